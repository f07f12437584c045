# The digest of sources that names entries of the kernel cache: every edit and every name counts,
# the order of the list does not.
#   cmake -DSCRIPT=cmake/SourceDigest.cmake -DFOLDER=SCRATCH -P source_digest.cmake
# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

# digest(OUT NAME=TEXT...): of these files.
function(digest out)
  file(REMOVE_RECURSE ${FOLDER})
  set(paths "")
  foreach(entry IN LISTS ARGN)
    string(REPLACE "=" ";" entry "${entry}")
    list(GET entry 0 name)
    list(GET entry 1 text)
    file(WRITE ${FOLDER}/${name} "${text}")
    string(APPEND paths "${FOLDER}/${name}\n")
  endforeach()
  file(WRITE ${FOLDER}/list "${paths}")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${FOLDER} -DLIST=${FOLDER}/list
                          -DOUTPUT=${FOLDER}/digest -P ${SCRIPT} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${FOLDER}/digest result)
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

digest(whole "a.cpp=one" "b/c.td=two")
digest(reversed "b/c.td=two" "a.cpp=one")
if(NOT whole STREQUAL reversed)
  message(SEND_ERROR "expects the order not to count, got ${whole} and ${reversed}")
endif()
foreach(changed "a.cpp=one;b/c.td=twa" "a.cpp=two;b/c.td=one" "a.cpp=one;b/d.td=two" "a.cpp=one")
  digest(other ${changed})
  if(other STREQUAL whole)
    message(SEND_ERROR "expects another digest for ${changed}, got ${other}")
  endif()
endforeach()
file(REMOVE_RECURSE ${FOLDER})
