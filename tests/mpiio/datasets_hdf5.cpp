// datasets_hdf5 SEED COUNT DIRECTORY [FIRST]: random datasets that groups of tasks write and read through
// parallel HDF5, compared with their definition (datasets.hpp). One task also reads them through HDF5's own
// POSIX driver, without MPI-IO. The last line is "N cases, 0 failed".
#include "datasets_hdf5.hpp"

namespace {

using namespace datasets;

struct Dataset {
  std::string name;
  ArrayContents contents;
  Dims chunk;  // empty: contiguous
  bool extends = false;
  bool filtered = false;
  ElementType type;
  hid_t in_file = -1;
  int fill = 0;  // value of unwritten elements, or unknown
  hid_t id = -1;
};

class Hdf5Case : public DatasetCase {
 public:
  using DatasetCase::DatasetCase;

  void run() {
    const bool made_alone = one_in(random, 6);
    for (int i = pick(random, 1, 3); i > 0; --i) define(i);
    for (const Dataset& one : sets_) shape += describe(one) + "; ";
    if (made_alone) shape += "made by one task; ";
    create(made_alone);
    for (int i = pick(random, 2, 5); i > 0; --i) step();
    for (Dataset& one : sets_) read(one);
    close();
    if (one_in(random, 2)) {
      open_again(H5F_ACC_RDONLY, true);
      for (Dataset& one : sets_) read(one);
      close();
    }
    check_alone();
    MPI_Barrier(group_.comm);
    if (group_.rank == 0) std::remove(path_.c_str());
  }

 private:
  std::vector<Dataset> sets_;
  hid_t file_ = -1;
  bool writable_ = true;
  hsize_t user_block_ = 0;
  uint64_t operation_ = 0;

  static std::string describe(const Dataset& one) {
    return one.name + text(one.contents.dims) +
           (one.chunk.empty() ? " contiguous" : " chunks " + text(one.chunk)) +
           (one.extends ? " extends" : "") + (one.filtered ? " filtered" : "") + " " + one.type.name +
           (one.in_file == one.type.native ? "" : " converted") + " fill " + std::to_string(one.fill);
  }

  void define(int i) {
    Dataset one;
    one.name = std::string(1, static_cast<char>('a' + i));
    const int rank = pick(random, 1, 4);
    one.contents.dims = some_dims(random, rank);
    if (pick(random, 0, 2) > 0)
      for (const uint64_t length : one.contents.dims)
        one.chunk.push_back(
            static_cast<uint64_t>(pick(random, 1 + static_cast<int>(length) / 8, static_cast<int>(length))));
    one.extends = !one.chunk.empty() && one_in(random, 2);
    one.filtered = !one.chunk.empty() && one_in(random, 4);
    one.type = element_types()[static_cast<size_t>(pick(random, 0, 7))];
    // HDF5 converts only in independent transfers, which do not support filters.
    one.in_file = !one.filtered && one_in(random, 4) ? one.type.other : one.type.native;
    const int fill = pick(random, 0, 3);
    one.fill = fill == 0 ? ArrayContents::unknown : fill == 1 ? 0 : pick(random, 1, 99);
    one.contents.resize(one.contents.dims, one.fill);
    sets_.push_back(std::move(one));
  }

  hid_t parallel_access() {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    MPI_Info info = some_hints();
    H5Pset_fapl_mpio(access, group_.comm, info);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (one_in(random, 4)) H5Pset_alignment(access, 1, static_cast<hsize_t>(1 << pick(random, 1, 10)));
    if (one_in(random, 3)) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    if (one_in(random, 2)) H5Pset_coll_metadata_write(access, true);
    return access;
  }

  hid_t dataset_properties(const Dataset& one, bool deflate, bool shuffle, bool sums) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (!one.chunk.empty()) H5Pset_chunk(properties, static_cast<int>(one.chunk.size()), as_hsize(one.chunk));
    if (one.fill > 0) H5Pset_fill_value(properties, H5T_NATIVE_INT, &one.fill);
    H5Pset_fill_time(properties, one.fill == ArrayContents::unknown ? H5D_FILL_TIME_NEVER
                                 : one.fill == 0                    ? H5D_FILL_TIME_ALLOC
                                                                    : H5D_FILL_TIME_IFSET);
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    if (one.filtered && shuffle) H5Pset_shuffle(properties);
    if (one.filtered && (deflate || !shuffle)) H5Pset_deflate(properties, 3);
    if (one.filtered && sums) H5Pset_fletcher32(properties);
    return properties;
  }

  // Creates the file. If `alone`, task 0 creates it with HDF5's POSIX driver.
  void create(bool alone) {
    user_block_ = one_in(random, 5) ? 1024 : 0;  // not below the alignment
    const hid_t parallel = parallel_access();
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block_);
    if (!alone || group_.rank == 0) {
      file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation, alone ? H5P_DEFAULT : parallel);
      worked(file_, "H5Fcreate");
    }
    for (Dataset& one : sets_) {
      const bool deflate = one_in(random, 2), shuffle = one_in(random, 2), sums = one_in(random, 4);
      if (file_ < 0) continue;
      const hid_t properties = dataset_properties(one, deflate, shuffle, sums);
      Dims most = one.contents.dims;
      for (uint64_t& length : most)
        if (one.extends) length = H5S_UNLIMITED;
      const hid_t space =
          H5Screate_simple(static_cast<int>(most.size()), as_hsize(one.contents.dims), as_hsize(most));
      one.id = H5Dcreate2(file_, one.name.c_str(), one.in_file, space, H5P_DEFAULT, properties, H5P_DEFAULT);
      worked(one.id, "H5Dcreate");
      H5Sclose(space);
      H5Pclose(properties);
    }
    H5Pclose(creation);
    if (alone) {
      if (file_ >= 0) close();
      MPI_Barrier(group_.comm);
      file_ = H5Fopen(path_.c_str(), H5F_ACC_RDWR, parallel);
      worked(file_, "H5Fopen");
      open_sets();
    }
    H5Pclose(parallel);
    synchronise();  // sets the length of the file, because HDF5 may fill with zeros if a read ends early
  }

  void open_sets() {
    for (Dataset& one : sets_) worked(one.id = H5Dopen2(file_, one.name.c_str(), H5P_DEFAULT), "H5Dopen");
  }

  // Opens the file again. Metadata may be read collectively only if no task writes: after independent
  // transfers, tasks of HDF5 1.10.8 need different metadata, and would wait for each other for ever.
  void open_again(unsigned mode, bool together) {
    const hid_t access = together ? parallel_access() : H5P_DEFAULT;
    writable_ = mode != H5F_ACC_RDONLY;
    if (together && !writable_ && one_in(random, 2)) H5Pset_all_coll_metadata_ops(access, true);
    file_ = H5Fopen(path_.c_str(), mode, access);
    worked(file_, "H5Fopen");
    if (together) H5Pclose(access);
    open_sets();
  }

  void close() {
    for (Dataset& one : sets_) worked(H5Dclose(one.id), "H5Dclose");
    worked(H5Fclose(file_), "H5Fclose");
    file_ = -1;
  }

  void open_for_writing_again() {
    close();
    MPI_Barrier(group_.comm);
    open_again(H5F_ACC_RDWR, true);
  }

  // Makes the data written by each task visible to the others.
  void synchronise() {
    worked(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush");
    MPI_Barrier(group_.comm);
    worked(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush");
  }

  hid_t transfer(bool together) {
    const hid_t properties = H5Pcreate(H5P_DATASET_XFER);
    const int how = pick(random, 0, 3);
    H5Pset_dxpl_mpio(properties, together ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    if (how == 1 && together) H5Pset_dxpl_mpio_collective_opt(properties, H5FD_MPIO_INDIVIDUAL_IO);
    if (how == 2 && together) H5Pset_dxpl_mpio_chunk_opt(properties, H5FD_MPIO_CHUNK_ONE_IO);
    if (how == 3 && together) H5Pset_dxpl_mpio_chunk_opt(properties, H5FD_MPIO_CHUNK_MULTI_IO);
    return properties;
  }

  void step() {
    Dataset& one = sets_[static_cast<size_t>(pick(random, 0, static_cast<int>(sets_.size()) - 1))];
    ++operation_;
    const int what = pick(random, 0, 9);
    if (what < 2 && one.extends) return extend(one);
    if (what < 4) return read(one);
    write(one);
  }

  void extend(Dataset& one) {
    Dims dims = one.contents.dims;
    // HDF5 cannot shrink filtered chunks in parallel.
    for (uint64_t& length : dims)
      length =
          !one.filtered && one_in(random, 3) ? 1 + random() % length : length + random() % (length / 2 + 2);
    // Reopens the file, because the resize reads metadata collectively (see open_again).
    open_for_writing_again();
    worked(H5Dset_extent(one.id, as_hsize(dims)), "H5Dset_extent to " + text(dims));
    one.contents.resize(dims, one.fill);
    synchronise();
    // Reopens the file, because tasks of HDF5 1.10.8 cache shrunk chunks, which become stale.
    open_for_writing_again();
  }

  void write(Dataset& one) {
    const Dims& dims = one.contents.dims;
    const bool together = one.filtered || one_in(random, 2);
    const SelectionKind kind = one_in(random, 5) ? SelectionKind::points : SelectionKind::slabs;
    const ArrayDistribution distribution(random, dims, group_.size);
    const hid_t properties = transfer(together);
    for (int task = 0; task < group_.size; ++task) {
      Random own = of_task(operation_, task);
      const Selection selection = some_selection(own, kind, dims, one.chunk, distribution, task, group_.size);
      for (const uint64_t index : selection.elements)
        one.contents.values[index] = some_value(number_, operation_, index);
      if (task != group_.rank || (!together && selection.elements.empty())) continue;
      DataspaceMemory memory(own, selection.elements.size(), one.type.size);
      for (size_t i = 0; i < selection.elements.size(); ++i)
        put(one.type, &memory.bytes[memory.at(i) * one.type.size],
            some_value(number_, operation_, selection.elements[i]));
      worked(
          H5Dwrite(one.id, one.type.memory, memory.space, selection.space, properties, memory.bytes.data()),
          "H5Dwrite " + one.name + selection.name);
    }
    H5Pclose(properties);
    synchronise();
  }

  // Reads elements; several tasks may read the same ones. The first read of a case reads all elements.
  void read(Dataset& one) {
    const Dims dims = one.contents.dims;
    // HDF5 1.10.8 caches the position of a chunk after an independent read, and does not notice if the chunk
    // moves.
    const bool together = (one.filtered && writable_) || one_in(random, 2);
    const hid_t properties = transfer(together);
    Random own = of_task(operation_ + 1000, group_.rank);
    const SelectionKind kind = one_in(own, 5) ? SelectionKind::points : SelectionKind::slabs;
    const ArrayDistribution alone(own, dims, 1);
    ++operation_;
    const Selection selection = some_selection(own, kind, dims, one.chunk, alone, 0, 1);
    if (together || !selection.elements.empty())
      read(one, selection, properties, together ? "together" : "independently");
    H5Pclose(properties);
    MPI_Barrier(group_.comm);  // prevents writes to data that other tasks still read
  }

  void read(Dataset& one, const Selection& selection, hid_t properties, const std::string& how) {
    Random own = of_task(operation_ + 2000, group_.rank);
    DataspaceMemory memory(own, selection.elements.size(), one.type.size);
    const std::vector<char> before = memory.bytes;
    worked(H5Dread(one.id, one.type.memory, memory.space, selection.space, properties, memory.bytes.data()),
           "H5Dread");
    const std::string what = "reading " + one.name + " " + how + selection.name;
    for (size_t i = 0; i < selection.elements.size(); ++i) {
      const uint64_t index = selection.elements[i];
      same(one.contents.values[index], get(one.type, &memory.bytes[memory.at(i) * one.type.size]),
           one.contents.dims, index, what);
      std::copy_n(&before[memory.at(i) * one.type.size], one.type.size,
                  &memory.bytes[memory.at(i) * one.type.size]);
    }
    if (memory.bytes != before) wrong(what + ": memory beside the selection has changed");
  }

  void check_alone() {
    MPI_Barrier(group_.comm);
    if (group_.rank != 0) return;
    open_again(H5F_ACC_RDONLY, false);
    for (Dataset& one : sets_) {
      const uint64_t n = volume(one.contents.dims);
      std::vector<char> bytes(n * one.type.size);
      worked(H5Dread(one.id, one.type.memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
             "H5Dread of one task");
      for (uint64_t i = 0; i < n; ++i)
        same(one.contents.values[i], get(one.type, &bytes[i * one.type.size]), one.contents.dims, i,
             one.name + " read by HDF5's POSIX driver");
    }
    close();
  }
};

}  // namespace

int main(int argc, char** argv) { return run_all<Hdf5Case>(argc, argv, "datasets_hdf5"); }
