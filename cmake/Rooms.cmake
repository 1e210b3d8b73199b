# The modules of the library, folders under src/ (docs/architecture.md), from the lowest to the highest. This is the
# only list of modules; a file belongs to the module of its folder.
set(SHEAF_CORE_ROOMS base format codec layout process
  storage/system storage/traits storage storage/decorators storage/posix
  comm comm_teams generation journal mode exchange/pieces exchange/transfer
  stream metadata creation buddy collective set keyval recovery container/sums container tools capture
  stripedfile/service stripedfile stripedfile/session)
set(SHEAF_MPI_ROOMS comm_mpi)
set(SHEAF_SHAREDFILE_ROOMS exchange sharedfile)
set(SHEAF_SION_ROOMS api/sion/handles api/sion api/sion/families)
set(SHEAF_SFIO_ROOMS api/sfio)
set(SHEAF_VIEW_ROOMS mount)
set(SHEAF_POSIX_ROOMS api/posix api/posix/names api/posix/stdio api/posix/entries)
set(SHEAF_MPIIO_ROOMS api/mpiio api/mpiio/types api/mpiio/requests)
set(SHEAF_MOUNT_ROOMS cli/mount)
set(SHEAF_CLI_ROOMS cli cli/about cli/classic cli/command_line cli/json cli/named cli/programs cli/stripe)

# sheaf_rooms(VARIABLE ROOM...): lists the C++ files of the given modules.
function(sheaf_rooms variable)
  list(TRANSFORM ARGN REPLACE "(.+)" "${SHEAF_SOURCE_DIR}/\\1/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
set(SHEAF_SOURCE_DIR ${CMAKE_CURRENT_LIST_DIR}/../src)
get_filename_component(SHEAF_SOURCE_DIR ${SHEAF_SOURCE_DIR} ABSOLUTE)
