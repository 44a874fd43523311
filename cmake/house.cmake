# The house: who may include whom, and who may see the operating system.
set(house ${CMAKE_SOURCE_DIR}/tests/house)
add_test(NAME house_includes
  COMMAND Python3::Interpreter ${house}/check_includes.py ${CMAKE_BINARY_DIR}/rooms.txt ${CMAKE_SOURCE_DIR})
add_test(NAME house_includes_can_fail COMMAND Python3::Interpreter ${house}/check_includes.py --self-test)
add_test(NAME house_symbols
  COMMAND Python3::Interpreter ${house}/check_symbols.py ${CMAKE_BINARY_DIR}/rooms.txt ${CMAKE_BINARY_DIR})
add_test(NAME house_symbols_can_fail
  COMMAND Python3::Interpreter ${house}/check_symbols.py --self-test ${CMAKE_CXX_COMPILER})

# A stock client against the real binary.
if(TARGET millrace)
  add_test(NAME e2e_kcat COMMAND ${CMAKE_SOURCE_DIR}/tests/e2e/kcat_test.sh)
  set_tests_properties(e2e_kcat PROPERTIES ENVIRONMENT MILLRACE=$<TARGET_FILE:millrace> TIMEOUT 240)
endif()
