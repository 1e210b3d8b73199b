#include "mpiio/api/transfer.hpp"

#include "mpiio/api/datatype/datatypes.hpp"
#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

void check_mode(int amode, TransferDirection way) {
  if (way == TransferDirection::write && (amode & MPI_MODE_RDONLY) != 0)
    throw MpiError(MPI_ERR_READ_ONLY, "the file is open for reading only");
  if (way == TransferDirection::read && (amode & MPI_MODE_WRONLY) != 0)
    throw MpiError(MPI_ERR_ACCESS, "the file is open for writing only");
}

}  // namespace

FileTransfer::FileTransfer(MpiFile& file, TransferDirection way, const Buffer& buffer, bool later)
    : file_(*file.file),
      way_(way),
      view_(file.file->view()),
      memory_{.address = static_cast<std::byte*>(buffer.address), .count = buffer.count},
      datarep_(file.view.datarep) {
  check_mode(file.amode, way);
  if (buffer.count < 0) throw MpiError(MPI_ERR_COUNT, "a count is negative");
  memory_.type = type_map(buffer.type);
  if (datarep_) {
    program_ = buffer;
    if (later) {
      kept_ = KeptType(buffer.type);
      program_.type = kept_.get();
    }
    if (way == TransferDirection::write) {
      converted_ = datarep_->to_file(buffer.address, buffer.type, buffer.count);
    } else {
      converted_.resize(static_cast<size_t>(datarep_->in_file(buffer.type).size() * buffer.count));
    }
    memory_ = {converted_.data(), layout::TypeMap::bytes(1), std::ssize(converted_)};
  }
  if (bytes() % view_->etype_size != 0)
    throw MpiError(MPI_ERR_IO, "a transfer of " + std::to_string(bytes()) +
                                   " bytes is no multiple of the etype's " +
                                   std::to_string(view_->etype_size));
  if (file.view.empty && bytes() > 0) throw MpiError(MPI_ERR_IO, "the file type of the view has no data");
}

int64_t FileTransfer::alone() {
  return finish(way_ == TransferDirection::write ? file_.write_at(*view_, position_, source())
                                                 : file_.read_at(*view_, position_, memory_));
}

int64_t FileTransfer::together(Sequence& sequence) {
  return finish(way_ == TransferDirection::write ? file_.write_at_all(sequence, *view_, position_, source())
                                                 : file_.read_at_all(sequence, *view_, position_, memory_));
}

int64_t FileTransfer::finish(int64_t bytes) {
  if (!datarep_) return bytes;
  if (way_ == TransferDirection::write) return program_.count * type_map(program_.type).size();
  return datarep_->from_file(std::span(converted_).first(static_cast<size_t>(bytes)), program_.address,
                             program_.type, program_.count);
}

}  // namespace sheaf::mpiio
