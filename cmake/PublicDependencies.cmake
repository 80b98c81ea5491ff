# What the exported targets link. The installed package includes this file too, so that a consumer
# finds exactly that, and no more than the components asked for need.
include(CMakeFindDependencyMacro)

# Inside a package an absent library makes the package not found, elsewhere it is an error.
macro(plsh_find)
  if(CMAKE_FIND_PACKAGE_NAME STREQUAL "plsh")
    find_dependency(${ARGN})
  else()
    find_package(${ARGN} REQUIRED)
  endif()
endmacro()

# GMP, MPFR and MPFI ship no CMake package: plsh::NAME from NAME.h and the library NAME.
macro(plsh_find_library name)
  if(NOT TARGET plsh::${name})
    find_path(PLSH_${name}_INCLUDE ${name}.h)
    find_library(PLSH_${name}_LIBRARY ${name})
    mark_as_advanced(PLSH_${name}_INCLUDE PLSH_${name}_LIBRARY)
    if(PLSH_${name}_INCLUDE AND PLSH_${name}_LIBRARY)
      add_library(plsh::${name} UNKNOWN IMPORTED)
      set_target_properties(plsh::${name} PROPERTIES
        IMPORTED_LOCATION ${PLSH_${name}_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${PLSH_${name}_INCLUDE})
    elseif(CMAKE_FIND_PACKAGE_NAME STREQUAL "plsh")
      set(plsh_FOUND FALSE)
      set(plsh_NOT_FOUND_MESSAGE "plsh needs the library ${name} and its header ${name}.h.")
      return()
    else()
      message(FATAL_ERROR "plsh needs the library ${name} and its header ${name}.h "
                          "(Debian package lib${name}-dev).")
    endif()
  endif()
endmacro()

macro(plsh_find_reference_dependencies)
  plsh_find(Boost 1.74)
  plsh_find(Eigen3 3.4 CONFIG)
  plsh_find_library(gmp)
  plsh_find_library(mpfr)
  plsh_find_library(mpfi)
endmacro()

macro(plsh_find_optimized_dependencies)
  plsh_find(Threads)
  plsh_find(hwy CONFIG)
endmacro()

macro(plsh_find_properties_dependencies)
  plsh_find(Threads)
  plsh_find(fmt CONFIG)
  plsh_find(nlohmann_json CONFIG)
  plsh_find(rapidcheck CONFIG)
  plsh_find(OpenSSL COMPONENTS Crypto)
endmacro()
