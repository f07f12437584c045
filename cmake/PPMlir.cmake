# MLIR 22 from Debian, linked as its two shared libraries.
#
# add_mlir_library() is not used: with LINK_LIBS MLIRxxx it puts MLIR's static
# archives beside libMLIR.so, and two copies of a dialect break registration.
# SPDX-License-Identifier: Apache-2.0
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
separate_arguments(PP_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${PP_LLVM_DEFINITIONS})

# The compiler's precompiled header: MLIR's own headers and the dialect's.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/PPPrecompiled.cpp CONTENT "// carries the precompiled header\n")
add_library(PPPrecompiled OBJECT ${PROJECT_BINARY_DIR}/PPPrecompiled.cpp)
target_precompile_headers(PPPrecompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
add_dependencies(PPPrecompiled PPGenerated)

# pp_add_library(NAME SOURCES... [LINK libs...]): a static library of ours that
# uses MLIR. It may be built as soon as all generated headers exist.
function(pp_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  target_precompile_headers(${name} REUSE_FROM PPPrecompiled)
  add_dependencies(${name} PPGenerated)
endfunction()

# pp_add_tool(NAME SOURCES... [LINK libs...]): an executable in bin/.
function(pp_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  target_precompile_headers(${name} REUSE_FROM PPPrecompiled)
  add_dependencies(${name} PPGenerated)
endfunction()
