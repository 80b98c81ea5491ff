# Warnings, sanitizers and coverage for our own targets, never exported to consumers. The warnings
# alone are for targets with sanitizers of their own.
add_library(plsh_warnings INTERFACE)
target_compile_options(plsh_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  # GCC 12 reports overlapping copies inside std::string that cannot happen (GCC bug 105329).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${PLSH_WERROR}>:-Werror>)

add_library(plsh_options INTERFACE)
target_link_libraries(plsh_options INTERFACE plsh_warnings)
if(PLSH_SANITIZE)
  target_compile_options(plsh_options INTERFACE
    -fsanitize=${PLSH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # GCC 12 takes parts of std::regex for uninitialized when it instruments them (GCC bug 105562).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(plsh_options INTERFACE -fsanitize=${PLSH_SANITIZE})
endif()
if(PLSH_COVERAGE)
  target_compile_options(plsh_options INTERFACE --coverage)
  target_link_options(plsh_options INTERFACE --coverage)
endif()

# Definitions for sources that Highway compiles for several instruction sets: the oldest is the
# fallback, the others are AVX2 and AVX-512. What lies between brings little.
set(PLSH_HIGHWAY_TARGETS "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)")

# A static library `plsh_NAME`, exported as plsh::NAME, with its headers in include/plsh/NAME.
function(plsh_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(plsh_${name} STATIC ${ARG_SOURCES})
  add_library(plsh::${name} ALIAS plsh_${name})
  set_target_properties(plsh_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(plsh_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(plsh_${name} PUBLIC cxx_std_20)
  target_link_libraries(plsh_${name} PUBLIC ${ARG_PUBLIC}
                        PRIVATE $<BUILD_INTERFACE:plsh_options> ${ARG_PRIVATE})
  install(TARGETS plsh_${name} EXPORT plshTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/plsh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
