# Installation, and the Debian package: scripts/package, or `cpack -G DEB` in a folder in which millrace is built.
include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # neither needs the tests

install(TARGETS millrace RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES packaging/millrace.service DESTINATION lib/systemd/system)
install(FILES config/production.properties DESTINATION /etc/millrace RENAME server.properties)
install(FILES packaging/millrace.default DESTINATION /etc/default RENAME millrace)

set(MR_DOC ${CMAKE_INSTALL_DATADIR}/doc/millrace)
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES README.md ${pages} packaging/debian/copyright DESTINATION ${MR_DOC})
install(DIRECTORY docs/decisions DESTINATION ${MR_DOC})
install(DIRECTORY config/ DESTINATION ${MR_DOC}/examples)

# What is made from the binary, or compressed.
install(CODE "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  function(write_output file)
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \${ARGN} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  write_output(\"\${share}/bash-completion/completions/millrace\" $<TARGET_FILE:millrace> completion bash)
  write_output(\"\${share}/zsh/vendor-completions/_millrace\" $<TARGET_FILE:millrace> completion zsh)
  write_output(\"\${share}/fish/vendor_completions.d/millrace.fish\" $<TARGET_FILE:millrace> completion fish)
  write_output(\"\${share}/man/man1/millrace.1.gz\" gzip -9nc ${CMAKE_SOURCE_DIR}/packaging/millrace.1)
  write_output(\"\${share}/doc/millrace/changelog.gz\" gzip -9nc ${CMAKE_SOURCE_DIR}/packaging/debian/changelog)")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "The Millrace authors <maintainers@millrace.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "streaming log server that speaks the Apache Kafka protocol")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "One binary is the broker, the controller and the command line. Stock Kafka\n clients and tools use it unchanged; its data directories have Kafka's files.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(control ${CMAKE_SOURCE_DIR}/packaging/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control}/conffiles ${control}/postinst ${control}/prerm ${control}/postrm)
include(CPack)
