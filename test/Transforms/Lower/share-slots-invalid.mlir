// Without programs there are no slots.
// RUN: pp-opt %s --pp-share-slots --verify-diagnostics

// expected-error@+1 {{expects programs (level 4), got none; pp-lower-to-programs writes them}}
module {
}
