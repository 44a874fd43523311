if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.cpp)
  add_executable(millrace src/cli/main.cpp)
  mr_link(millrace ROOMS cli)
endif()

if(MR_BUILD_TESTS)
  enable_testing()
  include(GoogleTest)
  include(${CMAKE_SOURCE_DIR}/tests/checker/CMakeLists.txt)
  include(${CMAKE_SOURCE_DIR}/tests/sim/CMakeLists.txt)
  # One test program a room: tests/<room>/*_test.cpp.
  foreach(room ${MR_ROOMS})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${room}/*.cpp)
    if(sources)
      add_executable(test_${room} ${sources})
      mr_link(test_${room} ROOMS ${room})
      target_link_libraries(test_${room} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
      if(room MATCHES "^(storage|client|runtime|net|broker)$")
        target_link_libraries(test_${room} PRIVATE mr_sim_env)  # #include "sim/disk.h", "sim/world.h"
      endif()
      # Relative to the root of the tree, where tests run: an absolute path would defeat the compiler cache.
      target_compile_definitions(test_${room} PRIVATE MR_TEST_DATA="tests/data")
      set_target_properties(test_${room} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
      add_test(NAME ${room} COMMAND test_${room} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    endif()
  endforeach()

  # Golden vectors are checked by what the mr-vectors program checks them with.
  set(mr_vectors ${CMAKE_SOURCE_DIR}/tools/mr-vectors)
  if(TARGET test_protocol)
    target_sources(test_protocol PRIVATE ${mr_vectors}/messages.cpp ${mr_vectors}/primitives.cpp ${mr_vectors}/hex.cpp)
    target_include_directories(test_protocol PRIVATE ${mr_vectors})
    target_link_libraries(test_protocol PRIVATE nlohmann_json::nlohmann_json)
  endif()
  if(TARGET test_record)
    target_sources(test_record PRIVATE ${CMAKE_SOURCE_DIR}/tools/mr-vectors/batches.cpp)
    target_include_directories(test_record PRIVATE ${CMAKE_SOURCE_DIR}/tools/mr-vectors)
    target_link_libraries(test_record PRIVATE nlohmann_json::nlohmann_json)
  endif()

  # Developer tools.
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/mr-vectors/*.cpp)
  add_executable(mr-vectors ${sources})
  mr_link(mr-vectors ROOMS record protocol)
  target_link_libraries(mr-vectors PRIVATE nlohmann_json::nlohmann_json)
  set_target_properties(mr-vectors PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)

  include(cmake/house.cmake)
endif()
