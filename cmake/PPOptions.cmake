# Flags that every target of the project shares. They are global because a
# precompiled header can only be reused by targets with identical flags.
# SPDX-License-Identifier: Apache-2.0
# A project around this one brings its own compiler. The runtime alone takes GCC, too.
if(PP_COMPILER AND NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  message(FATAL_ERROR "pp expects Clang, got ${CMAKE_CXX_COMPILER}: "
                      "configure with -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_C_COMPILER=clang-22, "
                      "or without the compiler, -DPP_COMPILER=OFF")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
add_compile_options(-fPIC -Wall -Wextra -Wno-unused-parameter -fno-exceptions
                    # std::stable_sort of GCC 12's library uses what C++17 deprecates.
                    -Wno-deprecated-declarations
                    -ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Keeps precompiled headers cacheable by ccache.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=lld)
else()
  # GoogleTest's macros end in an `if`.
  add_compile_options(-Wno-dangling-else)
endif()

find_program(PP_CCACHE ccache)
if(PP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${PP_CCACHE})
endif()

find_package(GTest REQUIRED)
include(GoogleTest)

# Carries the precompiled header of tests without MLIR.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/PPTestPrecompiled.cpp CONTENT "// carries the precompiled header\n")
add_library(PPTestPrecompiled OBJECT ${PROJECT_BINARY_DIR}/PPTestPrecompiled.cpp)
target_include_directories(PPTestPrecompiled PRIVATE ${PROJECT_SOURCE_DIR}/runtime/include ${PROJECT_BINARY_DIR}/include)
target_link_libraries(PPTestPrecompiled PRIVATE GTest::gtest)
target_precompile_headers(PPTestPrecompiled PRIVATE ${PROJECT_SOURCE_DIR}/test/Precompiled.h)
add_dependencies(PPTestPrecompiled PPXSchema)

# Tests are a third faster to compile at -O1; code that runs for long is in libraries.
set(PP_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)
target_compile_options(PPTestPrecompiled PRIVATE ${PP_TEST_OPTIONS})
function(pp_precompile_test name)
  target_compile_options(${name} PRIVATE ${PP_TEST_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM PPTestPrecompiled)
endfunction()

# pp_add_gtest(NAME SOURCES... LIBS... [MLIR]): one GoogleTest binary, known to
# CTest as one test with a time limit: one for what hangs, so that a test of a few
# seconds ends well within it on a machine that does much else. MLIR: the sources
# use MLIR's headers.
function(pp_add_gtest name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  if(ARG_MLIR)
    target_precompile_headers(${name} REUSE_FROM PPPrecompiled)
  else()
    pp_precompile_test(${name})
  endif()
  set_target_properties(${name} PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()
