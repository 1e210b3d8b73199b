# The rooms of the library, folders under src/ (docs/architecture.md), from the lowest to the highest. A room is listed here and nowhere
# else; a file belongs to what its folder belongs to.
set(SHEAF_CORE_ROOMS base format codec layout process
  storage storage/system storage/traits storage/decorators storage/posix
  comm comm_teams exchange/pieces exchange/transfer
  mode journal stream metadata creation collective buddy keyval recovery tools set
  stripedfile stripedfile/service stripedfile/session)
set(SHEAF_SION_ROOMS api/sion api/sion/handles api/sion/families)
set(SHEAF_SHAREDFILE_ROOMS exchange sharedfile)
set(SHEAF_MPIIO_ROOMS api/mpiio api/mpiio/types api/mpiio/requests)

# sheaf_rooms(VARIABLE ROOM...): the C++ files of these rooms.
function(sheaf_rooms variable)
  list(TRANSFORM ARGN REPLACE "(.+)" "${SHEAF_SOURCE_DIR}/\\1/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
set(SHEAF_SOURCE_DIR ${CMAKE_CURRENT_LIST_DIR}/../src)
get_filename_component(SHEAF_SOURCE_DIR ${SHEAF_SOURCE_DIR} ABSOLUTE)
