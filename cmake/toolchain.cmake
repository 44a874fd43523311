# Compiler flags, linker and cache shared by every target.
find_program(MR_CCACHE ccache)
if(MR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${MR_CCACHE})
endif()

add_library(mr_flags INTERFACE)
target_include_directories(mr_flags INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_compile_options(mr_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror=return-type
  -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports false positives of these inside libstdc++ at -O2.
  target_compile_options(mr_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow
    -Wno-array-bounds -Wno-dangling-pointer -fpch-preprocess)
else()
  target_compile_options(mr_flags INTERFACE -Xclang -fno-pch-timestamp)
endif()
if(MR_SANITIZE)
  target_compile_options(mr_flags INTERFACE -fsanitize=${MR_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(mr_flags INTERFACE -fsanitize=${MR_SANITIZE})
  if(MR_SANITIZE MATCHES "thread")
    target_compile_definitions(mr_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
find_program(MR_MOLD mold)
if(MR_MOLD)
  target_link_options(mr_flags INTERFACE -fuse-ld=mold)
endif()
