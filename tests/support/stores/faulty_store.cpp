// support/stores/faulty_store: the decorator's calls.
#include "support/stores/faulty_store.hpp"

#include <utility>

#include "base/error.hpp"
#include "support/stores/fault_ledger.hpp"

namespace sheaf {

namespace {

using Parts = std::span<const std::span<const std::byte>>;

int64_t total_of(Parts parts) {
  int64_t sum = 0;
  for (const auto& part : parts) sum += static_cast<int64_t>(part.size());
  return sum;
}

class FaultyFile final : public File {
 public:
  FaultyFile(std::shared_ptr<File> inner, std::shared_ptr<FaultyStore::Ledger> ledger)
      : inner_(std::move(inner)), ledger_(std::move(ledger)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const auto length = static_cast<int64_t>(data.size());
    if (const int error = ledger_->enter(Operation::write, path(), offset, length)) {
      if (ledger_->half_first()) inner_->write_at(data.first(data.size() / 2), offset);
      throw injected_error(Operation::write, path(), error);
    }
    inner_->write_at(data, offset);
    ledger_->add_written(length);
  }

  void write_vector_at(Parts parts, int64_t offset) override {
    const int64_t length = total_of(parts);
    if (const int error = ledger_->enter(Operation::write, path(), offset, length)) {
      if (ledger_->half_first()) write_first(parts, offset, length / 2);
      throw injected_error(Operation::write, path(), error);
    }
    inner_->write_vector_at(parts, offset);
    ledger_->add_written(length);
  }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    if (const int error =
            ledger_->enter(Operation::read, path(), offset, static_cast<int64_t>(data.size()))) {
      if (ledger_->ends_early()) return inner_->read_at(data.first(data.size() / 2), offset);
      if (ledger_->half_first()) inner_->read_at(data.first(data.size() / 2), offset);
      throw injected_error(Operation::read, path(), error);
    }
    const size_t got = inner_->read_at(data, offset);
    ledger_->add_read(static_cast<int64_t>(got));
    return got;
  }

  FileStatus status() override {
    ledger_->require(Operation::status, path());
    return inner_->status();
  }

  void resize(int64_t size) override {
    ledger_->require(Operation::resize, path(), size);
    inner_->resize(size);
  }

  LockResult lock(int64_t offset, int64_t length, bool exclusive, Barred barred) override {
    return inner_->lock(offset, length, exclusive, barred);
  }
  void expect_lockers(int64_t tasks) override { inner_->expect_lockers(tasks); }
  bool try_lock(int64_t offset, int64_t length, bool exclusive) override {
    return inner_->try_lock(offset, length, exclusive);
  }
  void unlock(int64_t offset, int64_t length) override { inner_->unlock(offset, length); }
  int writers_at_once() override { return inner_->writers_at_once(); }
  void allocate(int64_t size) override {
    ledger_->require(Operation::resize, path(), size);
    inner_->allocate(size);
  }

  void sync() override {
    ledger_->require(Operation::sync, path());
    inner_->sync();
  }

  void copy_to(File& target, int64_t offset, int64_t target_offset, int64_t length) override {
    auto* const other = dynamic_cast<FaultyFile*>(&target);
    if (other == nullptr || other->ledger_ != ledger_)
      return copy_through_memory(*this, target, offset, target_offset, length);
    if (const int error = ledger_->enter(Operation::copy, path(), offset, length)) {
      if (ledger_->half_first()) inner_->copy_to(*other->inner_, offset, target_offset, length / 2);
      throw injected_error(Operation::copy, path(), error);
    }
    inner_->copy_to(*other->inner_, offset, target_offset, length);
    ledger_->add_written(length);
  }

  int64_t next_data(int64_t offset) override {
    ledger_->require(Operation::next_data, path(), offset);
    return inner_->next_data(offset);
  }

  int open_again(bool writable) override {
    ledger_->require(Operation::open, path());
    return inner_->open_again(writable);
  }

  // One kind with next_data: both are one lseek.
  int64_t next_hole(int64_t offset) override {
    ledger_->require(Operation::next_data, path(), offset);
    return inner_->next_hole(offset);
  }

  const std::string& path() const override { return inner_->path(); }

  void close() override {
    const int error = ledger_->enter(Operation::close, path());
    inner_->close();
    if (error != 0) throw injected_error(Operation::close, path(), error);
  }

 private:
  void write_first(Parts parts, int64_t offset, int64_t bytes) {
    for (auto part = parts.begin(); part != parts.end() && bytes > 0; ++part) {
      const auto count = std::min(bytes, static_cast<int64_t>(part->size()));
      inner_->write_at(part->first(static_cast<size_t>(count)), offset);
      offset += count;
      bytes -= count;
    }
  }

  const std::shared_ptr<File> inner_;
  const std::shared_ptr<FaultyStore::Ledger> ledger_;
};

}  // namespace

FaultyStore::FaultyStore(Store& inner, FaultPlan plan)
    : ForwardingStore(inner), ledger_(std::make_shared<Ledger>()) {
  set_plan(std::move(plan));
}

FaultyStore::~FaultyStore() = default;

std::shared_ptr<File> FaultyStore::open(const std::string& path, Access access) {
  ledger_->require(Operation::open, path);
  return std::make_shared<FaultyFile>(inner().open(path, access), ledger_);
}

FileStatus FaultyStore::status(const std::string& path) {
  ledger_->require(Operation::status, path);
  return inner().status(path);
}

void FaultyStore::remove(const std::string& path) {
  ledger_->require(Operation::remove, path);
  inner().remove(path);
}

void FaultyStore::rename(const std::string& from, const std::string& to) {
  ledger_->require(Operation::rename, from);
  inner().rename(from, to);
}

}  // namespace sheaf
