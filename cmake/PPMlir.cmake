# MLIR 22 from Debian: tests and what is built for development link its two shared
# libraries, tools of a release its archives. To relocate the libraries takes 50 ms of
# each start, and a run of all tests starts tools thousands of times; to link a tool
# with the archives takes 3 s.
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

# What links MLIR and LLVM: shared, unless the target asks for the archives.
file(GLOB PP_MLIR_ARCHIVES ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER PP_MLIR_ARCHIVES EXCLUDE REGEX "CAPI|Runner|Test|T(able|bl)[gG]en|Exegesis|FuzzMutate")
find_library(PP_ZSTD NAMES zstd libzstd.so.1)
set(asks "$<BOOL:$<TARGET_PROPERTY:PP_LINKS_ARCHIVES>>")
add_library(PPMlir INTERFACE)
target_include_directories(PPMlir INTERFACE # for a project around this one
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
target_include_directories(PPMlir SYSTEM INTERFACE
  $<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}> $<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>)
target_link_libraries(PPMlir INTERFACE
  "$<BUILD_INTERFACE:$<$<NOT:${asks}>:MLIR;LLVM>>"
  "$<BUILD_INTERFACE:$<${asks}:${PP_MLIR_ARCHIVES};${PP_ZSTD};ZLIB::ZLIB>>"
  "$<INSTALL_INTERFACE:MLIR;LLVM>")

# pp_add_library(NAME SOURCES... [LINK libs...]): a static library of ours that
# uses MLIR. It may be built as soon as all generated headers exist. Where it is
# installed the runtime is the shared library, so that a program has it once.
function(pp_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  list(TRANSFORM ARG_LINK REPLACE "^pprt$" "$<BUILD_INTERFACE:pprt>;$<INSTALL_INTERFACE:pprt::pprt>")
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PPMlir)
  target_precompile_headers(${name} REUSE_FROM PPPrecompiled)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${PP_UNITY})
  add_dependencies(${name} PPGenerated)
endfunction()

# pp_add_tool(NAME SOURCES... [LINK libs...]): an executable in bin/.
function(pp_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} PPMlir)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND PP_MLIR_ARCHIVES AND PP_ZSTD)
    set_target_properties(${name} PROPERTIES PP_LINKS_ARCHIVES ON)
  endif()
  target_precompile_headers(${name} REUSE_FROM PPPrecompiled)
  add_dependencies(${name} PPGenerated)
endfunction()
