// The generic family: the program defines its tasks and their communication callbacks.
#include <cstdlib>
#include <string>

#include "api/sion/families/generic_api.hpp"
#include "api/sion/families/generic_mover.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/mapped.hpp"
#include "api/sion/opening.hpp"
#include "comm/reduce.hpp"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::api;

namespace {

// Placement of a task as given by the program.
struct GivenPlace {
  const int* filenumber;
  const int* numfiles;
  const int* lrank;
  const int* lsize;
};

LocalGroup checked(const GivenPlace& given) {
  if (!given.filenumber || !given.numfiles || !given.lrank || !given.lsize)
    throw Error(Code::invalid_argument, "filenumber, numfiles, lrank and lsize are needed to write");
  const LocalGroup place{*given.lrank, *given.lsize, *given.filenumber, *given.numfiles};
  if (place.rank < 0 || place.rank >= place.size)
    throw Error(Code::invalid_argument, "local rank " + std::to_string(place.rank) + " is not in a file of " +
                                            std::to_string(place.size) + " tasks");
  if (place.filenumber < 0 || place.filenumber >= place.numfiles)
    throw Error(Code::invalid_argument, "file " + std::to_string(place.filenumber) + " is not one of " +
                                            std::to_string(place.numfiles));
  return place;
}

// Applies the placements after validating that every file has the tasks 0 to lsize-1. Collective.
void place_as_given(Comm& comm, const GivenPlace& given, ParallelWriteRequest& request) {
  LocalGroup place;
  auto problem = attempt([&] { place = checked(given); });
  MinMax numbers(place.numfiles);
  agree(comm, problem, numbers);
  if (!numbers.is_same()) throw Error(Code::mismatch, "the tasks gave different numbers of files");
  std::unique_ptr<Comm> local = comm.split(place.filenumber, place.rank);
  int64_t files = local->rank() == 0;
  comm.all_sum(std::span(&files, 1));
  problem = attempt([&] {
    if (local->size() != place.size || local->rank() != place.rank || files != place.numfiles)
      throw Error(Code::mismatch, "task " + std::to_string(comm.rank()) + " said it is " +
                                      std::to_string(place.rank) + " of " + std::to_string(place.size) +
                                      " in one of " + std::to_string(place.numfiles) + " files, but is " +
                                      std::to_string(local->rank()) + " of " + std::to_string(local->size()) +
                                      " in one of " + std::to_string(files));
  });
  agree(comm, problem);
  make_local_group(comm, place);
  request.local = std::move(local);
  request.filenumber = place.filenumber;
  request.nfiles = place.numfiles;
}

// Creates the means of collective calls on a physical file. The means use the group that the program has
// created for the tasks of the file.
class Means {
 public:
  Means(const GenericApi& api, void* all) : api_(api), all_(all) {}

  CollectiveMeans find(Comm& comm, int rank, int size, int nfiles) {
    CollectiveMeans means = generic_means(api_, all_, local_group_of(comm), mover_);
    if (nfiles > 1) means.meeting = callback_comm(api_.comm, local_group_of(comm), rank, size);
    return means;
  }

  // Returns the means for a write. Returns no means if a single file holds all tasks and the local group
  // orders them differently from the whole group, because collective calls cannot use such a group.
  // Collective.
  CollectiveMeans find_for(Comm& comm, const ParallelWriteRequest& request) {
    return any_task(comm, request.nfiles == 1 && request.local->rank() != comm.rank())
               ? CollectiveMeans{}
               : find(comm, request.local->rank(), request.local->size(), request.nfiles);
  }

  void serve(int sid) {
    if (mover_) mover_->serve(sid, find_handle(sid)->facts().fsblksize);
  }

 private:
  const GenericApi& api_;
  void* all_;
  std::shared_ptr<GenericMover> mover_;
};

// Switches collectors off if a task lacks the callbacks that transfer data. Has no effect if the mode
// requests buddy copies, which are always written. Collective.
void refuse_collective(const GenericApi& api, Comm& comm, OpenMode& mode) {
  if (mode.collective.buddies > 0 || !plan_of(mode.collective, mode.writes(), comm.size())) return;
  if (!any_task(comm, !api.moves_data())) return;
  mode.collective.forced = CollectiveMode::Forced::off;
  mode.collective.renumber = false;
  if (comm.rank() == 0)
    warn("sion_generic_paropen",
         "collective reading and writing need the callbacks gather_and_execute, execute_and_scatter and "
         "get_capability; "
         "every task transfers its own data",
         0);
}

NameOf name_by(char* callback(const char*, int), const char* fname) {
  if (!callback || !fname) return nullptr;
  return [callback, base = std::string(fname)](int32_t number) {
    char* const made = callback(base.c_str(), number);
    if (!made)
      throw Error(Code::io,
                  "the get_multi_filename callback gave no name for file " + std::to_string(number));
    const std::string name = made;
    std::free(made);
    return name;
  };
}

}  // namespace

int sion_generic_paropen(int aid, const char* fname, const char* file_mode, sion_int64* chunksize,
                         sion_int32* fsblksize, void* gcommgroup, int grank, int gsize, int* filenumber,
                         int* numfiles, const int* lrank, const int* lsize, FILE** fileptr, char** newfname) {
  static constexpr const char* function = "sion_generic_paropen";
  return guarded_together(function, grank, process_job_end(grank, gsize), -1, [&] {
    const GenericApi api = generic_api(aid);
    api.check_complete();
    int files = 1;
    FILE* stream = nullptr;
    char* name = nullptr;
    Means means(api, gcommgroup);
    ParallelOpen call{.function = function,
                      .fname = fname,
                      .file_mode = file_mode,
                      .numfiles = &files,
                      .has_local = true,
                      .chunksize = chunksize,
                      .fsblksize = fsblksize,
                      .fileptr = fileptr ? &stream : nullptr,
                      .newfname = newfname ? &name : nullptr,
                      .shares = true,
                      .name_of = name_by(api.multi_filename, fname),
                      .adjust = [&](Comm& comm, OpenMode& mode) { refuse_collective(api, comm, mode); }};
    call.place = [&](Comm& comm, ParallelWriteRequest& request, const OpenMode& mode) {
      place_as_given(comm, {filenumber, numfiles, lrank, lsize}, request);
      if (plan_of(mode.collective, true, request.local->size()))
        request.means = means.find_for(comm, request);
    };
    bool has_local_group = false;
    call.means_of = [&](Comm& all, Comm& local, int32_t number, int32_t files_of_set) {
      make_local_group(all, {local.rank(), local.size(), number, files_of_set});
      has_local_group = true;
      return means.find(all, local.rank(), local.size(), files_of_set);
    };
    const int sid = open_parallel(callback_comm(api.comm, gcommgroup, grank, gsize), call);
    if (sid < 0) return sid;
    means.serve(sid);
    if (Reader* const reader = find_handle(sid)->reads.get()) {
      try {
        if (!has_local_group)
          make_local_group(*reader->comm(), {reader->local().rank(), reader->local().size(),
                                             reader->facts().filenumber, reader->facts().nfiles});
      } catch (...) {
        std::free(name);
        remove_handle(sid);
        throw;
      }
      if (filenumber) *filenumber = reader->facts().filenumber;
      if (numfiles) *numfiles = reader->facts().nfiles;
    }
    if (fileptr) *fileptr = stream;
    if (newfname) *newfname = name;
    return sid;
  });
}

int sion_generic_parclose(int sid) { return close_parallel("sion_generic_parclose", sid); }

int sion_generic_paropen_mapped(int aid, char* fname, const char* file_mode, int* numFiles, void* gcommgroup,
                                int grank, int gsize, int* nlocaltasks, int** globalranks,
                                sion_int64** chunksizes, int** mapping_filenrs, int** mapping_lranks,
                                sion_int32* fsblksize, FILE** fileptr) {
  static constexpr const char* function = "sion_generic_paropen_mapped";
  return guarded_together(function, grank, process_job_end(grank, gsize), -1, [&] {
    const GenericApi api = generic_api(aid);
    api.check_complete();
    return open_mapped(
        callback_comm(api.comm, gcommgroup, grank, gsize),
        {function, fname, file_mode, numFiles, nlocaltasks, globalranks, chunksizes, mapping_filenrs,
         mapping_lranks, fsblksize, fileptr, true, name_by(api.multi_filename, fname)});
  });
}

int sion_generic_parclose_mapped(int sid) {
  return close_parallel("sion_generic_parclose_mapped", sid, OpenedBy::mapped);
}

int sion_generic_parreinit(int sid, sion_int64 chunksize) {
  return reinit_parallel("sion_generic_parreinit", sid, chunksize);
}
