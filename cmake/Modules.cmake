# The modules of the library, folders of src/ (docs/architecture.md), and the folders of each, from the lowest to the highest. A folder is
# listed here and nowhere else; a file belongs to what its folder belongs to.
set(SHEAF_SOURCE_MODULES base format layout storage comm exchange multifile mpiio sfio streams api cli)

set(SHEAF_CORE_FOLDERS base base/os base/report format format/codec layout storage/system
  storage/filesystem storage storage/decorators storage/background storage/posix
  comm comm/threads exchange/pieces exchange/transfer
  multifile/generation multifile/journal multifile/options multifile/stream multifile/frames multifile/metadata multifile/create
  multifile/buddy multifile/collective multifile/reader multifile/writer multifile/keyval multifile/recover multifile/tools
  multifile/deferred multifile/saves
  sfio/service sfio sfio/session)
set(SHEAF_STREAMS_FOLDERS streams/container/sums streams/container/index streams/container streams/verify streams/capture)
set(SHEAF_MPI_FOLDERS comm/mpi)
set(SHEAF_SHAREDFILE_FOLDERS exchange mpiio/file)
set(SHEAF_SION_FOLDERS api/sion/handles api/sion api/sion/families)
set(SHEAF_SFIO_FOLDERS sfio/api)
set(SHEAF_VIEW_FOLDERS streams/mount)
set(SHEAF_POSIX_FOLDERS streams/preload streams/preload/names streams/preload/stdio streams/preload/entries)
set(SHEAF_MPIIO_FOLDERS mpiio/api mpiio/api/datatype mpiio/api/requests sfio/mpiio)
set(SHEAF_MOUNT_FOLDERS cli/mount)
set(SHEAF_CLI_FOLDERS cli cli/about cli/classic cli/command_line cli/json cli/named cli/programs cli/stripe)

# SHEAF_STREAMS: named streams, captured files and mounted directories. Without them, streams/absent and cli/absent
# replace the module (docs/building.md).
option(SHEAF_STREAMS "Named streams, sheaf run, libsheaf_posix and sheaf mount" ON)
if(NOT SHEAF_STREAMS)
  set(SHEAF_STREAMS_FOLDERS streams/absent)
  set(SHEAF_VIEW_FOLDERS "")
  list(REMOVE_ITEM SHEAF_CLI_FOLDERS cli/named)
  list(APPEND SHEAF_CLI_FOLDERS cli/absent)
endif()

# sheaf_sources(VARIABLE FOLDER...): the C++ files of these folders.
function(sheaf_sources variable)
  list(TRANSFORM ARGN REPLACE "(.+)" "${SHEAF_SOURCE_DIR}/\\1/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
set(SHEAF_SOURCE_DIR ${CMAKE_CURRENT_LIST_DIR}/../src)
get_filename_component(SHEAF_SOURCE_DIR ${SHEAF_SOURCE_DIR} ABSOLUTE)
