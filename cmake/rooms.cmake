# The rooms of DESIGN.md, lowest first. A room may include only itself and the rooms after USES (not their own
# uses). This table feeds linking and tests/house/check_includes.py.
#
#   mr_room(<name> USES <rooms...> [EXTERNAL <libraries...>] [MUTANTS <files...>])
#
# MUTANTS names the files that hold an MR_MUTANT: they are built a second time with MR_MUTANTS defined, for tests and the
# simulator, whose linker meets them before the room's own. A mutant in a file that is not named here never fires.
set(MR_ROOMS "")
set(MR_ROOMS_TABLE "")

# Standard headers that nearly every file uses, compiled once for all rooms. Only system headers: with a header of this
# tree in it the precompiled header would carry the tree's path, and the compiler cache could not share it.
set(MR_PCH <fmt/core.h> <fmt/format.h> <algorithm> <array> <atomic> <chrono> <compare>
  <cstddef> <cstdint> <cstring> <deque> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
  <string_view> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>)
add_library(mr_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(mr_pch PUBLIC mr_flags fmt::fmt)
target_precompile_headers(mr_pch PRIVATE ${MR_PCH})

function(mr_library target)
  target_link_libraries(${target} PUBLIC mr_flags fmt::fmt)
  target_precompile_headers(${target} REUSE_FROM mr_pch)
endfunction()

function(mr_room name)
  cmake_parse_arguments(ROOM "" "" "USES;EXTERNAL;MUTANTS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(sources)
    add_library(mr_${name} STATIC ${sources})
    mr_library(mr_${name})
    target_link_libraries(mr_${name} PUBLIC ${ROOM_EXTERNAL})
    if(ROOM_MUTANTS AND MR_BUILD_TESTS)
      list(TRANSFORM ROOM_MUTANTS PREPEND ${CMAKE_SOURCE_DIR}/src/${name}/)
      add_library(mr_${name}_mutants STATIC EXCLUDE_FROM_ALL ${ROOM_MUTANTS})
      mr_library(mr_${name}_mutants)
      target_compile_definitions(mr_${name}_mutants PRIVATE MR_MUTANTS)
    endif()
  endif()
  set_property(GLOBAL PROPERTY MR_USES_${name} ${ROOM_USES})
  set(MR_ROOMS ${MR_ROOMS} ${name} PARENT_SCOPE)
  string(REPLACE ";" " " uses "${ROOM_USES}")
  set(MR_ROOMS_TABLE "${MR_ROOMS_TABLE}${name}: ${uses}\n" PARENT_SCOPE)
endfunction()

# Links <target> with the named rooms and everything below them. MUTANTS puts their mutant files first.
function(mr_link target)
  cmake_parse_arguments(LINK "MUTANTS" "" "ROOMS" ${ARGN})
  set(todo ${LINK_ROOMS})
  set(all "")
  while(todo)
    list(POP_FRONT todo room)
    if(NOT room IN_LIST all)
      list(APPEND all ${room})
      get_property(uses GLOBAL PROPERTY MR_USES_${room})
      list(APPEND todo ${uses})
    endif()
  endwhile()
  set(mutants "")
  set(libraries "")
  foreach(room ${all})
    if(LINK_MUTANTS AND TARGET mr_${room}_mutants)
      list(APPEND mutants mr_${room}_mutants)
    endif()
    if(TARGET mr_${room})
      list(APPEND libraries mr_${room})
    endif()
  endforeach()
  mr_library(${target})
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${mutants} ${libraries} -Wl,--end-group)
endfunction()

mr_room(base)
mr_room(bytes USES base EXTERNAL ${MR_CODEC_LIBRARIES} OpenSSL::Crypto)
mr_room(env USES base bytes)
mr_room(record USES base bytes)
mr_room(protocol USES base bytes)
mr_room(client USES base bytes env protocol)
mr_room(storage USES base bytes env record protocol
        MUTANTS log_directory.cpp)
mr_room(raft USES base bytes record protocol
        MUTANTS election.cpp log.cpp machine.cpp peers.cpp)
mr_room(metadata USES base bytes record protocol
        MUTANTS controller_partitions.cpp fencing.cpp partition_change.cpp)
mr_room(replication USES base bytes record protocol
        MUTANTS partition.cpp partition_leader.cpp)
mr_room(coordinator USES base bytes record protocol
        MUTANTS classic/member.cpp classic/offsets.cpp classic/rebalance.cpp)
mr_room(runtime USES base bytes env record protocol client storage raft metadata replication coordinator
        MUTANTS controller_driver.cpp coordinator_driver.cpp partition_driver.cpp partition_readers.cpp)
mr_room(net USES base bytes env)
mr_room(broker USES base bytes env record protocol client storage raft metadata replication coordinator runtime net)
mr_room(env_os USES base bytes env EXTERNAL mr_boost spdlog::spdlog OpenSSL::SSL OpenSSL::Crypto)
mr_room(admin USES base bytes env metadata net runtime broker env_os EXTERNAL mr_boost prometheus-cpp::core)
mr_room(server USES base bytes env record protocol client storage raft metadata replication coordinator runtime net
        broker env_os admin EXTERNAL yaml-cpp)
mr_room(cli USES base bytes env record protocol client storage runtime broker env_os server
        EXTERNAL nlohmann_json::nlohmann_json CLI11::CLI11)

file(WRITE ${CMAKE_BINARY_DIR}/rooms.txt "${MR_ROOMS_TABLE}")
