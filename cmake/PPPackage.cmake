# What find_package(PP) finds, as the install component ppdev: libraries, headers
# and CMake files, for compilers that use pp. A build without the compiler has the
# planner alone. The runtime is a package of its own (runtime/capi).
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/PP)

# pp_install(EXPORT targets...): with the names that users link where they have one.
function(pp_install export)
  install(TARGETS ${ARGN} EXPORT ${export} ARCHIVE COMPONENT ppdev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${export} NAMESPACE PP:: DESTINATION ${package} COMPONENT ppdev)
endfunction()

set_target_properties(PPPlannerSearch PROPERTIES EXPORT_NAME Planner)
pp_install(PPPlannerTargets PPPlannerSearch PPReshardPlanner PPSchedule)
if(PP_COMPILER)
  set_target_properties(PPIR PROPERTIES EXPORT_NAME IR)
  set_target_properties(PPInitAll PROPERTIES EXPORT_NAME Passes)
  set_target_properties(PPCAPI PROPERTIES EXPORT_NAME CAPI)
  set_target_properties(PPModels PROPERTIES EXPORT_NAME Models)
  set_target_properties(PPStableHLOReader PROPERTIES EXPORT_NAME StableHLOReader)
  set_target_properties(PPExport PROPERTIES EXPORT_NAME StableHLOExport)
  pp_install(PPCompilerTargets PPAnalysis PPCAPI PPExport PPIR PPImport PPInitAll PPMlir PPModels PPPlanner PPPredict
             PPStableHLOReader PPTarget PPTransforms)
  install(DIRECTORY include/pp include/pp-c ${PROJECT_BINARY_DIR}/include/pp ${PROJECT_BINARY_DIR}/include/pp-c TYPE INCLUDE COMPONENT ppdev
          FILES_MATCHING PATTERN CMakeFiles EXCLUDE PATTERN Explain EXCLUDE PATTERN Reference EXCLUDE
          PATTERN *.h PATTERN *.inc PATTERN *.def PATTERN *.td)
  install(DIRECTORY docs/ ${PROJECT_BINARY_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pp COMPONENT ppdev
          FILES_MATCHING PATTERN *.md)
else()
  set(headers ${CMAKE_INSTALL_INCLUDEDIR}/pp)
  install(DIRECTORY include/pp/Schedule DESTINATION ${headers} COMPONENT ppdev)
  install(FILES include/pp/Planner/CutSearch.h include/pp/Planner/Residuals.h include/pp/Planner/ScheduleSearch.h
          DESTINATION ${headers}/Planner COMPONENT ppdev)
  install(FILES include/pp/Transforms/Shard/ReshardPlanner.h DESTINATION ${headers}/Transforms/Shard COMPONENT ppdev)
endif()

configure_package_config_file(cmake/PPConfig.cmake.in PPConfig.cmake INSTALL_DESTINATION ${package})
# Before 1.0 a minor version may change anything.
write_basic_package_version_file(PPConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PPConfig.cmake ${PROJECT_BINARY_DIR}/PPConfigVersion.cmake
        DESTINATION ${package} COMPONENT ppdev)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pp COMPONENT ppdev)
