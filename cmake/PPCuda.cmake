# What of CUDA is there: headers to build the GPU engine, tools to judge its kernels.
#
# In: CUDA_HOME, a toolkit in /usr/local/cuda, what `scripts/install-dependencies
# --cuda` fetched. Out: PP_CUDA_INCLUDE_DIRS (empty: no GPU engine), and each empty
# where it is missing PP_LIBDEVICE, PP_LIBDEVICE_ORIGIN, PP_PTXAS, PP_NVDISASM.
# Nothing is linked: libraries are opened when a run asks for a GPU.
# SPDX-License-Identifier: Apache-2.0
set(PP_CUDA AUTO CACHE STRING "Build the GPU engine: AUTO (if CUDA's headers are there), ON, OFF")
set_property(CACHE PP_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT PP_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PP_CUDA expects AUTO, ON or OFF, got ${PP_CUDA}")
endif()

set(PP_CUDA_INCLUDE_DIRS)
set(PP_CUDA_ROOTS)
if(NOT PP_CUDA STREQUAL "OFF")
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache $ENV{XDG_CACHE_HOME})
  else()
    set(cache $ENV{HOME}/.cache)
  endif()
  foreach(root "$ENV{CUDA_HOME}" /usr/local/cuda ${cache}/pp/cuda/13.0)
    if(EXISTS "${root}/include/cuda.h")
      list(APPEND PP_CUDA_ROOTS ${root})
    endif()
  endforeach()
endif()

# A toolkit need not have NCCL, and what is missing in one may be in another.
# Found anew each time, for a toolkit may have come or gone.
foreach(file PP_CUDA_H:cuda.h PP_CUBLASLT_H:cublasLt.h PP_NCCL_H:nccl.h
             PP_LIBDEVICE:libdevice.10.bc PP_PTXAS:ptxas PP_NVDISASM:nvdisasm)
  string(REGEX MATCH "^(.*):(.*)$" matched ${file})
  set(variable ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  set(${variable})
  foreach(root ${PP_CUDA_ROOTS})
    foreach(folder include bin nvvm/libdevice)
      if(NOT ${variable} AND EXISTS ${root}/${folder}/${name})
        set(${variable} ${root}/${folder}/${name})
      endif()
    endforeach()
  endforeach()
endforeach()

if(PP_CUDA_H AND PP_CUBLASLT_H AND PP_NCCL_H)
  foreach(header ${PP_CUDA_H} ${PP_CUBLASLT_H} ${PP_NCCL_H})
    get_filename_component(folder ${header} DIRECTORY)
    list(APPEND PP_CUDA_INCLUDE_DIRS ${folder})
  endforeach()
  list(REMOVE_DUPLICATES PP_CUDA_INCLUDE_DIRS)
  message(STATUS "GPU engine: headers of ${PP_CUDA_INCLUDE_DIRS}")
elseif(PP_CUDA STREQUAL "ON")
  message(FATAL_ERROR "PP_CUDA=ON expects cuda.h, cublasLt.h and nccl.h, got: "
    "'${PP_CUDA_H}', '${PP_CUBLASLT_H}', '${PP_NCCL_H}' "
    "(scripts/install-dependencies --cuda, or CUDA_HOME)")
else()
  message(STATUS "No GPU engine (PP_CUDA=${PP_CUDA}; it needs CUDA's headers: "
    "scripts/install-dependencies --cuda)")
endif()

set(PP_LIBDEVICE_ORIGIN)
if(PP_LIBDEVICE)
  # Beside it lies the header that says which CUDA it is of.
  get_filename_component(root ${PP_LIBDEVICE} DIRECTORY)
  file(STRINGS ${root}/../../include/cuda.h version REGEX "^#define CUDA_VERSION [0-9]+$")
  string(REGEX REPLACE "^.* ([0-9]+)0([0-9])0$" "\\1.\\2" version "${version}")
  file(SHA256 ${PP_LIBDEVICE} digest)
  string(SUBSTRING ${digest} 0 16 digest)
  set(PP_LIBDEVICE_ORIGIN "libdevice.10.bc of NVIDIA CUDA ${version}, sha256 ${digest}")
endif()
