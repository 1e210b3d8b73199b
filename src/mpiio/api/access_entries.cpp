// Entry points of data access: MPI_File_read, MPI_File_write and their families, with ordinary and large
// counts.
#include "mpiio/api/access.hpp"
#include "mpiio/api/entry.hpp"

using namespace sheaf::mpiio;

namespace {

void* plain(const void* address) { return const_cast<void*>(address); }

}  // namespace

// Defines the entry points that reads and writes have in common. `C` is the suffix for large counts, or
// empty. `Memory` is void or const void.
#define SHEAF_DATA_ACCESS(Verb, way, Memory, Number, C)                                                    \
  int PMPI_File_##Verb##_at##C(MPI_File f, MPI_Offset at, Memory* b, Number n, MPI_Datatype t,             \
                               MPI_Status* s) {                                                            \
    return access_one({"MPI_File_" #Verb "_at", way, PointerKind::none, at}, f, {plain(b), n, t}, s);      \
  }                                                                                                        \
  int PMPI_File_##Verb##_at_all##C(MPI_File f, MPI_Offset at, Memory* b, Number n, MPI_Datatype t,         \
                                   MPI_Status* s) {                                                        \
    return access_all({"MPI_File_" #Verb "_at_all", way, PointerKind::none, at}, f, {plain(b), n, t}, s);  \
  }                                                                                                        \
  int PMPI_File_i##Verb##_at##C(MPI_File f, MPI_Offset at, Memory* b, Number n, MPI_Datatype t,            \
                                MPI_Request* r) {                                                          \
    return start_one({"MPI_File_i" #Verb "_at", way, PointerKind::none, at}, f, {plain(b), n, t}, r);      \
  }                                                                                                        \
  int PMPI_File_i##Verb##_at_all##C(MPI_File f, MPI_Offset at, Memory* b, Number n, MPI_Datatype t,        \
                                    MPI_Request* r) {                                                      \
    return start_all({"MPI_File_i" #Verb "_at_all", way, PointerKind::none, at}, f, {plain(b), n, t}, r);  \
  }                                                                                                        \
  int PMPI_File_##Verb##C(MPI_File f, Memory* b, Number n, MPI_Datatype t, MPI_Status* s) {                \
    return access_one({"MPI_File_" #Verb, way}, f, {plain(b), n, t}, s);                                   \
  }                                                                                                        \
  int PMPI_File_##Verb##_all##C(MPI_File f, Memory* b, Number n, MPI_Datatype t, MPI_Status* s) {          \
    return access_all({"MPI_File_" #Verb "_all", way}, f, {plain(b), n, t}, s);                            \
  }                                                                                                        \
  int PMPI_File_i##Verb##C(MPI_File f, Memory* b, Number n, MPI_Datatype t, MPI_Request* r) {              \
    return start_one({"MPI_File_i" #Verb, way}, f, {plain(b), n, t}, r);                                   \
  }                                                                                                        \
  int PMPI_File_i##Verb##_all##C(MPI_File f, Memory* b, Number n, MPI_Datatype t, MPI_Request* r) {        \
    return start_all({"MPI_File_i" #Verb "_all", way}, f, {plain(b), n, t}, r);                            \
  }                                                                                                        \
  int PMPI_File_##Verb##_shared##C(MPI_File f, Memory* b, Number n, MPI_Datatype t, MPI_Status* s) {       \
    return access_one({"MPI_File_" #Verb "_shared", way, PointerKind::shared}, f, {plain(b), n, t}, s);    \
  }                                                                                                        \
  int PMPI_File_i##Verb##_shared##C(MPI_File f, Memory* b, Number n, MPI_Datatype t, MPI_Request* r) {     \
    return start_one({"MPI_File_i" #Verb "_shared", way, PointerKind::shared}, f, {plain(b), n, t}, r);    \
  }                                                                                                        \
  int PMPI_File_##Verb##_ordered##C(MPI_File f, Memory* b, Number n, MPI_Datatype t, MPI_Status* s) {      \
    return access_all({"MPI_File_" #Verb "_ordered", way, PointerKind::shared}, f, {plain(b), n, t}, s);   \
  }                                                                                                        \
  int PMPI_File_##Verb##_at_all_begin##C(MPI_File f, MPI_Offset at, Memory* b, Number n, MPI_Datatype t) { \
    return begin_all({"MPI_File_" #Verb "_at_all_begin", way, PointerKind::none, at}, f, {plain(b), n, t}, \
                     #Verb "_at_all");                                                                     \
  }                                                                                                        \
  int PMPI_File_##Verb##_all_begin##C(MPI_File f, Memory* b, Number n, MPI_Datatype t) {                   \
    return begin_all({"MPI_File_" #Verb "_all_begin", way}, f, {plain(b), n, t}, #Verb "_all");            \
  }                                                                                                        \
  int PMPI_File_##Verb##_ordered_begin##C(MPI_File f, Memory* b, Number n, MPI_Datatype t) {               \
    return begin_all({"MPI_File_" #Verb "_ordered_begin", way, PointerKind::shared}, f, {plain(b), n, t},  \
                     #Verb "_ordered");                                                                    \
  }

#define SHEAF_SPLIT_END(Verb, Memory, family)                                      \
  int PMPI_File_##Verb##_##family##_end(MPI_File f, Memory*, MPI_Status* s) {      \
    return end_all("MPI_File_" #Verb "_" #family "_end", f, s, #Verb "_" #family); \
  }

extern "C" {

SHEAF_DATA_ACCESS(read, TransferDirection::read, void, int, )
SHEAF_DATA_ACCESS(write, TransferDirection::write, const void, int, )
SHEAF_DATA_ACCESS(read, TransferDirection::read, void, MPI_Count, _c)
SHEAF_DATA_ACCESS(write, TransferDirection::write, const void, MPI_Count, _c)

SHEAF_SPLIT_END(read, void, all)
SHEAF_SPLIT_END(read, void, at_all)
SHEAF_SPLIT_END(read, void, ordered)
SHEAF_SPLIT_END(write, const void, all)
SHEAF_SPLIT_END(write, const void, at_all)
SHEAF_SPLIT_END(write, const void, ordered)

}  // extern "C"
