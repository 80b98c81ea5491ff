# Every third-party library, found once: what consumers of the installed package need as well, and
# what is compiled in.
include(${CMAKE_CURRENT_LIST_DIR}/PublicDependencies.cmake)
plsh_find_reference_dependencies()
plsh_find_optimized_dependencies()
plsh_find_properties_dependencies()

find_package(Boost 1.74 REQUIRED COMPONENTS context)  # the executor of CUDA kernels
find_package(Spectra 1.0 REQUIRED CONFIG)
