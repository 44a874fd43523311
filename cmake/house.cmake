# The house: who may include whom, and who may see the operating system.
set(house ${CMAKE_SOURCE_DIR}/tests/house)
add_test(NAME house_includes
  COMMAND Python3::Interpreter ${house}/check_includes.py ${CMAKE_BINARY_DIR}/rooms.txt ${CMAKE_SOURCE_DIR})
add_test(NAME house_includes_can_fail COMMAND Python3::Interpreter ${house}/check_includes.py --self-test)
add_test(NAME house_symbols
  COMMAND Python3::Interpreter ${house}/check_symbols.py ${CMAKE_BINARY_DIR}/rooms.txt ${CMAKE_BINARY_DIR})
add_test(NAME house_symbols_can_fail
  COMMAND Python3::Interpreter ${house}/check_symbols.py --self-test ${CMAKE_CXX_COMPILER})

add_test(NAME house_settings COMMAND Python3::Interpreter ${house}/check_settings.py ${CMAKE_SOURCE_DIR})
add_test(NAME house_settings_can_fail COMMAND Python3::Interpreter ${house}/check_settings.py --self-test)
# The table of stock clients hides no failure.
add_test(NAME house_compatibility_table COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/compat/table_test.py)

# A stock client against the real binary.
if(TARGET millrace)
  add_test(NAME e2e_kcat COMMAND ${CMAKE_SOURCE_DIR}/tests/e2e/kcat_test.sh)
  set_tests_properties(e2e_kcat PROPERTIES ENVIRONMENT MILLRACE=$<TARGET_FILE:millrace> TIMEOUT 240)
  # Raw connections, kills and damage that no stock client would make. Each file has more tests than these quick ones.
  set(e2e_hostile garbage unknown_apis_and_versions lying_counts many_small_requests_pipelined halves_of_large_requests
    no_answer_without_acknowledgement ends_in_the_middle named_again_and_again peers_that_vanish)
  set(e2e_damage torn_end missing_bytes_that_were_synced older_topic_of_the_same_name foreign_data stopped_during_its_start killed_again_and_again)
  set(e2e_compaction a_million_commits a_topic_written_over_and_over)
  set(e2e_faulty short_io one_of_two_directories_fails few_descriptors_many_partitions no_descriptors_for_connections)
  # All but B52_a_full_disk, which mounts a file system.
  set(e2e_cases B04_compression_is_used_by_clients_that_look_at_the_lowest_version B07_a_retried_batch_is_not_appended_again
    B09_a_producer_that_was_forgotten_goes_on B23_a_fetch_inside_a_batch_gets_it_whole
    B24_a_batch_above_every_limit_is_still_delivered B26_offsets_by_time B28_a_record_from_the_future
    B28_a_record_from_the_future_leaves_by_its_age B30_configurations_of_a_topic
    B29_validate_only_on_an_existing_name B32_one_answer_for_each_topic B34_more_partitions_leave_the_policy_alone
    B37_a_record_without_a_key_in_a_compacted_topic B38_the_size_that_counts_is_the_compressed_one B39_metadata_of_offsets
    B50_what_an_administrators_client_asks_first B54_a_stop_after_many_deletions)
  set(e2e_administration settings_count_at_once_and_after_a_restart who_is_above_a_quota_is_answered_and_then_muted
    who_changes_too_many_partitions_is_muted the_cleaner_follows_its_settings the_file_is_read_again)
  set(e2e_lag stuck_is_told_and_taken_back metrics_are_bounded_and_say_what_is_left_out errors_and_times_are_counted
    the_command_line_shows_the_same hot_partitions_and_keys_are_found health_is_told_apart)
  set(e2e_quorum elects_and_replicates survives_kills_of_the_leader survives_kills_of_all hands_over_when_it_stops
    a_long_tail_that_nobody_else_has_is_cut who_is_far_behind_gets_a_snapshot)
  set(e2e_cluster forms_a_cluster_and_every_node_takes_requests_for_the_controller survives_kills_of_the_active_controller
    the_next_controller_fences_one_that_stands_still a_broker_comes_back_with_what_it_acknowledged what_was_acknowledged_outlives_its_leaders
    groups_move_with_their_partitions all_stop_and_start_again a_node_that_waits_for_a_quorum_stops_when_told
    nodes_stop_and_come_back_while_nothing_changes
    brokers_that_only_know_where_to_ask_first)
  set(e2e_failover a_replica_whose_log_cannot_be_opened_is_not_led of_two_directories_one_fails
    an_old_copy_of_a_replica_that_was_put_back_leads_nothing
    kills_are_noticed_before_the_session_is_over who_falls_silent_loses_its_leaderships_after_its_session
    who_was_stopped_tells_no_old_end thousands_of_partitions_change_their_leader
    commands_tell_who_is_missing_and_give_leaderships_back who_is_unregistered_leads_nothing_until_it_registers_again)
  foreach(suite hostile damage compaction faulty cases administration lag quorum cluster failover)
    add_test(NAME e2e_${suite} COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/e2e/${suite}_test.py ${e2e_${suite}})
    set_tests_properties(e2e_${suite} PROPERTIES ENVIRONMENT MILLRACE=$<TARGET_FILE:millrace> TIMEOUT 240)
  endforeach()
  add_test(NAME e2e_examples COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/e2e/examples_test.py)
  set_tests_properties(e2e_examples PROPERTIES ENVIRONMENT MILLRACE=$<TARGET_FILE:millrace> TIMEOUT 240)
  if(NOT MR_SANITIZE)
    add_test(NAME package COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/package/package_test.py)
    set_tests_properties(package PROPERTIES ENVIRONMENT BUILD=${CMAKE_BINARY_DIR} TIMEOUT 240)
  endif()
  # Skipped where there is no Prometheus.
  add_test(NAME e2e_dashboard COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/e2e/dashboard_test.py)
  set_tests_properties(e2e_dashboard PROPERTIES ENVIRONMENT MILLRACE=$<TARGET_FILE:millrace> TIMEOUT 240 SKIP_RETURN_CODE 77)
  add_test(NAME cli_usage COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/cli/usage_test.py)
  set_tests_properties(cli_usage PROPERTIES ENVIRONMENT MILLRACE=$<TARGET_FILE:millrace> TIMEOUT 240)
  # The commands.
  add_test(NAME cli_commands COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/cli/commands_test.py topics topic_offsets groups
    group_reset configs broker_configs quotas cluster log_dirs old_broker old_broker_configs unreachable wrong_advertised_address client_properties
    bash_completion fish_completion zsh_completion reference)
  set_tests_properties(cli_commands PROPERTIES ENVIRONMENT MILLRACE=$<TARGET_FILE:millrace> TIMEOUT 240)
endif()
