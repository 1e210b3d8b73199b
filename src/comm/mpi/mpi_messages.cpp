#include "comm/mpi/mpi_messages.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "base/os/backoff.hpp"
#include "comm/mpi/constants.hpp"
#include "comm/mpi/mpi_calls.hpp"

namespace sheaf {
namespace {

using mpi::check;

// Allows one MPI call at a time per process. A listener's thread may still call MPI while MPI_Finalize ends
// the session. MPICH 4.0 runs MPI_Finalize without the locks of MPI_THREAD_MULTIPLE.
std::unique_lock<std::recursive_mutex> one_at_a_time() {
  static std::recursive_mutex calls;
  return std::unique_lock(calls);
}

// The datatype of a message, based at MPI_BOTTOM. A single block needs no derived type.
class MessageDatatype : private NonCopyable {
 public:
  explicit MessageDatatype(std::span<const MemoryRun> runs) {
    if (bytes_of(runs) > INT_MAX) throw Error(Code::invalid_argument, "a message of 2 GiB or more");
    if (runs.empty()) return;
    if (runs.size() == 1 && runs[0].count == 1) {
      at_ = runs[0].at;
      count_ = static_cast<int>(runs[0].length);
      return;
    }
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Datatype> own;
    for (const MemoryRun& run : runs) {
      MPI_Aint place = 0;
      check(MPI_Get_address(run.at, &place), "MPI_Get_address");
      places.push_back(place);
      if (run.count == 1 || run.stride == run.length) {
        lengths.push_back(static_cast<int>(run.bytes()));
        types.push_back(MPI_BYTE);
        continue;
      }
      MPI_Datatype strided = MPI_DATATYPE_NULL;
      check(MPI_Type_create_hvector(static_cast<int>(run.count), static_cast<int>(run.length), run.stride,
                                    MPI_BYTE, &strided),
            "MPI_Type_create_hvector");
      own.push_back(strided);
      lengths.push_back(1);
      types.push_back(strided);
    }
    const auto blocks = static_cast<int>(lengths.size());
    check(MPI_Type_create_struct(blocks, lengths.data(), places.data(), types.data(), &type_),
          "MPI_Type_create_struct");
    for (MPI_Datatype& strided : own) MPI_Type_free(&strided);
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
    count_ = 1;
  }
  ~MessageDatatype() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);  // MPI keeps the type while a message uses it
  }

  void* at() const { return at_; }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  void* at_ = MPI_BOTTOM;
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

class MpiTransfer final : public Transfer, private NonCopyable {
 public:
  explicit MpiTransfer(bool sends) : sends_(sends) {}
  ~MpiTransfer() override {
    auto calling = one_at_a_time();
    int finalized = 0;
    if (request_ == MPI_REQUEST_NULL || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
    if (sends_) {
      MPI_Request_free(&request_);
      return;
    }
    // A message that has arrived in part never completes if its sender has died, so the wait is limited.
    MPI_Cancel(&request_);
    const Deadline deadline(mpi::cancel_timeout);
    for (Backoff backoff(mpi::poll_backoff);;) {
      int flag = 0;
      if (MPI_Test(&request_, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag) return;
      if (deadline.expired()) break;
      calling.unlock();
      backoff.wait();
      calling.lock();
    }
    MPI_Request_free(&request_);
  }

  bool done() override {
    if (request_ == MPI_REQUEST_NULL) return true;
    const auto calling = one_at_a_time();
    int flag = 0;
    MPI_Status status;
    check(MPI_Test(&request_, &flag, &status), sends_ ? "MPI_Isend" : "MPI_Irecv");
    if (flag && !sends_) {
      int count = 0;
      check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
      if (count == MPI_UNDEFINED) check(MPI_Get_elements(&status, MPI_BYTE, &count), "MPI_Get_elements");
      bytes_ = count;
      peer_ = status.MPI_SOURCE;
    }
    return flag;
  }

  int64_t bytes() const override { return bytes_; }
  int peer() const override { return peer_; }
  MPI_Request* request() { return &request_; }

 private:
  const bool sends_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int64_t bytes_ = 0;
  int peer_ = -1;
};

class MessagesOnComm final : public MpiMessages, private NonCopyable {
 public:
  MessagesOnComm(MPI_Comm comm, bool own)
      : comm_(comm), own_(own), rank_(mpi::rank_in(comm)), size_(mpi::size_of(comm)) {}
  ~MessagesOnComm() override {
    if (own_) mpi::free_own(comm_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  MPI_Comm comm() const override { return comm_; }

  std::unique_ptr<Transfer> send(int peer, int tag, std::span<const MemoryRun> pieces) override {
    return start(true, peer, tag, pieces);
  }
  std::unique_ptr<Transfer> receive(int peer, int tag, std::span<const MemoryRun> room) override {
    return start(false, peer == any_task ? MPI_ANY_SOURCE : peer, tag, room);
  }

  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void back_off(double idle) override {
    mpi::message_backoff.wait_after(std::chrono::nanoseconds(static_cast<int64_t>(idle * 1e9)));
  }

 private:
  std::unique_ptr<Transfer> start(bool sends, int peer, int tag, std::span<const MemoryRun> runs) {
    SHEAF_ASSERT(tag >= 0 && tag <= highest_tag);
    SHEAF_ASSERT((peer >= 0 && peer < size_) || (!sends && peer == MPI_ANY_SOURCE));
    const auto calling = one_at_a_time();
    const MessageDatatype shape(runs);
    auto transfer = std::make_unique<MpiTransfer>(sends);
    MPI_Request* const request = transfer->request();
    check(sends ? MPI_Isend(shape.at(), shape.count(), shape.type(), peer, tag, comm_, request)
                : MPI_Irecv(shape.at(), shape.count(), shape.type(), peer, tag, comm_, request),
          sends ? "MPI_Isend" : "MPI_Irecv");
    return transfer;
  }

  const MPI_Comm comm_;
  const bool own_;
  const int rank_;
  const int size_;
};

}  // namespace

std::unique_ptr<MpiMessages> mpi_messages(MPI_Comm comm) {
  return std::make_unique<MessagesOnComm>(mpi::duplicate_of(comm), true);
}

std::unique_ptr<MpiMessages> mpi_messages_on(MPI_Comm duplicate) {
  return std::make_unique<MessagesOnComm>(duplicate, false);
}

}  // namespace sheaf
