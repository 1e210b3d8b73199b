// cli/partest/mpi_io: the target for MPI-IO of the MPI library in use. One shared file holds the concatenated
// data of the tasks.
#include <mpi.h>

#include <string>

#include "base/error.hpp"
#include "cli/partest/target.hpp"

namespace sheaf::partest {

namespace {

class MpiIoTarget : public Target {
 public:
  MpiIoTarget(bool w, const Options& o, Comm& c) : Target(w, o, c) {
    MPI_Info_create(&info_);
    if (options.tasks.iotasks > 0) hint("sheaf_iotasks", std::to_string(options.tasks.iotasks));
    if (options.hints.largeblock >= 0) hint("IBM_largeblock_io", options.hints.largeblock ? "true" : "false");
    if (options.hints.iobufsize >= 0)
      hint("IBM_io_buffer_size", std::to_string(options.hints.iobufsize) + "KB");
    if (options.hints.sparseaccess >= 0)
      hint("IBM_sparse_access", options.hints.sparseaccess ? "true" : "false");
  }
  ~MpiIoTarget() override {
    if (fh_ != MPI_FILE_NULL) MPI_File_close(&fh_);
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }

  void open() override {
    check(MPI_File_open(MPI_COMM_WORLD, options.filename.c_str(),
                        writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY, info_, &fh_),
          "cannot open");
    if (writes) check(MPI_File_set_size(fh_, 0), "cannot truncate");
  }

  void move(std::byte* data, int64_t bytes) override {
    if (writes) {
      transfer(options.calls.collwrite ? MPI_File_write_at_all : MPI_File_write_at, data, bytes,
               "cannot write to");
    } else {
      transfer(options.calls.collread ? MPI_File_read_at_all : MPI_File_read_at, data, bytes, "cannot read");
    }
  }

  void close() override { check(MPI_File_close(&fh_), "cannot close"); }

  void remove() override {
    if (comm.rank() == 0) remove_file(options.filename);
  }

  bool collective() const override { return writes ? options.calls.collwrite : options.calls.collread; }

 private:
  void hint(const char* key, const std::string& value) { MPI_Info_set(info_, key, value.c_str()); }

  void check(int code, const char* doing) const {
    if (code == MPI_SUCCESS) return;
    char words[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, words, &length);
    throw Error(Code::io, std::string("MPI-IO ") + doing + " '" + options.filename +
                              "': " + std::string(words, static_cast<size_t>(length)));
  }

  template <class Call>
  void transfer(Call call, std::byte* data, int64_t bytes, const char* doing) {
    MPI_Status status;
    check(call(fh_, at_, data, static_cast<int>(bytes), MPI_BYTE, &status), doing);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (bytes > 0 && count != bytes)
      throw Error(Code::damaged, "MPI-IO moved " + std::to_string(count) + " of " + std::to_string(bytes) +
                                     " bytes at offset " + std::to_string(at_) + " of '" + options.filename +
                                     "'");
    at_ += bytes;
  }

  MPI_File fh_ = MPI_FILE_NULL;
  MPI_Info info_ = MPI_INFO_NULL;
  MPI_Offset at_ = begin_of(source_of(comm.rank()));
};

}  // namespace

std::unique_ptr<Target> make_mpi_io(bool writes, const Options& options, Comm& comm) {
  return std::make_unique<MpiIoTarget>(writes, options, comm);
}

}  // namespace sheaf::partest
