# Every third-party library, found once. The installed package includes this file too, so that a
# consumer finds exactly what the exported targets link.
find_package(Boost 1.74 REQUIRED)
find_package(Eigen3 3.4 REQUIRED CONFIG)
find_package(Spectra 1.0 REQUIRED CONFIG)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)

# GMP, MPFR and MPFI ship no CMake package.
foreach(library gmp mpfr mpfi)
  if(NOT TARGET plsh::${library})
    find_path(PLSH_${library}_INCLUDE ${library}.h REQUIRED)
    find_library(PLSH_${library}_LIBRARY ${library} REQUIRED)
    add_library(plsh::${library} UNKNOWN IMPORTED)
    set_target_properties(plsh::${library} PROPERTIES
      IMPORTED_LOCATION ${PLSH_${library}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${PLSH_${library}_INCLUDE})
  endif()
endforeach()
