# find_package(plsh) gives plsh::reference, plsh::properties and plsh::optimized.
include(CMakePackageConfigHelpers)
set(PLSH_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/plsh)
install(EXPORT plshTargets NAMESPACE plsh:: DESTINATION ${PLSH_CMAKE_DIR})
configure_package_config_file(cmake/plshConfig.cmake.in ${PROJECT_BINARY_DIR}/plshConfig.cmake
                              INSTALL_DESTINATION ${PLSH_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plshConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plshConfig.cmake ${PROJECT_BINARY_DIR}/plshConfigVersion.cmake
              cmake/PublicDependencies.cmake
        DESTINATION ${PLSH_CMAKE_DIR})
