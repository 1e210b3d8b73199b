// Collective calls. Compares arbitrary blocks of all tasks with a model, and tests outcomes and the number of
// listeners that a task uses at a time.
#include "sfio/session/collective.hpp"

#include <random>

#include "cluster.hpp"

namespace sheaf::test::collective_test {
namespace {

using sfio::CollectiveShare;
using sfio::Direction;
using sfio::LinkCounts;
using sfio::Request;
using sfio::transfer_together;

// Opens on task 0; the other tasks adopt the file.
std::unique_ptr<StripedFile> open_together(StripedCluster::ComputeTask& task, const std::string& name,
                                           int64_t unit, int subfiles) {
  std::unique_ptr<StripedFile> file;
  std::vector<StripedFile::SubfileToken> token(static_cast<size_t>(subfiles));
  if (task.comm.rank() == 0) {
    file = open_named(task, name, unit);
    token = file->token();
  }
  task.comm.broadcast(std::as_writable_bytes(std::span(token)), 0);
  if (!file) file = StripedFile::adopt(task.link, name, token);
  return file;
}

std::string text_of(int task, size_t bytes) {
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (i + static_cast<size_t>(task)) % 26);
  return text;
}

// Tasks write randomly distributed blocks of their own, and then read blocks of other tasks.
void random_blocks(int tasks, int listeners, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  StripedCluster cluster(tasks, listeners);
  cluster.seed = seed;
  cluster.room = 64;
  std::mt19937_64 random(seed);
  const auto subfiles = 1 + static_cast<int>(random() % static_cast<uint64_t>(2 * listeners));
  const auto unit = 1 + static_cast<int64_t>(random() % 20);
  std::string model;
  std::vector<std::vector<std::pair<int64_t, std::string>>> writes(static_cast<size_t>(tasks)),
      reads = writes;
  for (int i = 0; i < 4 * tasks; ++i) {
    const std::string text = text_of(i, random() % 90);
    writes[random() % writes.size()].emplace_back(std::ssize(model), text);
    model += text;
  }
  for (auto& list : reads)
    for (uint64_t n = random() % 4; n > 0; --n) {
      const size_t from = random() % (model.size() + 1);
      list.emplace_back(static_cast<int64_t>(from), model.substr(from, random() % 200));
    }
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_together(task, name_on(listeners, subfiles), unit, subfiles);
    const auto me = static_cast<size_t>(task.comm.rank());
    CollectiveShare part{file.get(), {}, {}};
    int64_t bytes = 0;
    for (auto& [offset, text] : writes[me]) {
      part.blocks.push_back(block(offset, text));
      bytes += std::ssize(text);
    }
    EXPECT_EQ(transfer_together(task.comm, Direction::write, part), bytes);
    part.blocks.clear();
    std::vector<std::string> found;
    found.reserve(reads[me].size());
    for (const auto& [offset, text] : reads[me]) {
      found.emplace_back(text.size(), '?');
      part.blocks.push_back(block(offset, found.back()));
    }
    transfer_together(task.comm, Direction::read, part);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], reads[me][i].second);
    task.comm.barrier();
    if (task.comm.rank() == 0) file->close();
  });
}

TEST(Collective, RandomBlocksOfAllTasks) {
  for (uint64_t seed = 0; seed < 60; ++seed)
    random_blocks(1 + static_cast<int>(seed % 5), 1 + static_cast<int>(seed / 5 % 4), seed);
}

TEST(Collective, TooManyTasksAndListenersToKnowAllLoads) { random_blocks(140, 120, 1); }

TEST(Collective, TheEndOfTheFileAndTasksWithoutData) {
  StripedCluster cluster(3, 2);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_together(task, name_on(2, 2), 10, 2);
    std::string text = text_of(1, 25);
    CollectiveShare part{file.get(), {}, {}};
    if (task.comm.rank() == 1) part.blocks = {block(0, text)};
    EXPECT_EQ(transfer_together(task.comm, Direction::write, part), task.comm.rank() == 1 ? 25 : 0);
    std::string found(30, '?');
    part.blocks = {block(10 * task.comm.rank(), found)};
    EXPECT_EQ(transfer_together(task.comm, Direction::read, part), 25 - 10 * task.comm.rank());
    EXPECT_EQ(found[0], text[static_cast<size_t>(10 * task.comm.rank())]);
    EXPECT_EQ(found.back(), '\0');
    task.comm.barrier();
    if (task.comm.rank() == 0) file->close();
  });
}

TEST(Collective, WhatIsWrongOnOneTaskIsTheErrorOfAll) {
  StripedCluster cluster(3, 2);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_together(task, name_on(2, 2), 10, 2);
    std::string text(30, 'x');
    CollectiveShare part{file.get(), {block(30 * task.comm.rank(), text)}, {}};
    if (task.comm.rank() == 1) part.blocks[0].offset = -1;
    std::string message;
    const auto write = [&] { transfer_together(task.comm, Direction::write, part); };
    EXPECT_EQ(code_of(write, &message), Code::invalid_argument);
    EXPECT_EQ(message.starts_with("task 1: "), task.comm.rank() != 1) << message;
    EXPECT_NE(message.find("at offset -1"), std::string::npos) << message;
    EXPECT_EQ(file->status().size, 0) << "nothing was written";
    if (task.comm.rank() == 2) part = {nullptr, {}, Error(Code::wrong_mode, "no file")};
    if (task.comm.rank() == 1) part.blocks[0].offset = 0;
    EXPECT_EQ(code_of(write, &message), Code::wrong_mode);
    task.comm.barrier();
    if (task.comm.rank() == 0) file->close();
  });
}

TEST(Collective, AListenerThatFailsIsTheErrorOfAllAndTheOthersDoTheirParts) {
  StripedCluster cluster(3, 3);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_together(task, name_on(3, 3), 10, 3);
    task.comm.barrier();
    if (task.comm.rank() == 0) {
      FaultPlan full;
      full.fail_at = 0;
      full.from_then_on = true;
      full.errno_value = ENOSPC;
      full.kind = StoreOperation::write;
      cluster.stores[1]->set_plan(full);
    }
    task.comm.barrier();
    // Task 0 writes to listener 0 alone, the other tasks to all.
    std::string text = text_of(0, task.comm.rank() == 0 ? 10 : 30);
    const CollectiveShare part{file.get(), {block(30 * task.comm.rank(), text)}, {}};
    std::string message;
    EXPECT_NE(code_of([&] { transfer_together(task.comm, Direction::write, part); }, &message), Code::ok);
    EXPECT_NE(message.find("host1"), std::string::npos) << message;
    EXPECT_EQ(read_text(*file, 0, 10), text_of(0, 10));
    EXPECT_EQ(read_text(*file, 50, 10), text_of(0, 30).substr(20));
    task.comm.barrier();
    cluster.stores[1]->set_plan({});
    if (task.comm.rank() == 0) file->close();
  });
}

// Records the listeners with pending calls; each call completes after a few polls.
class WatchedLink final : public Link {
 public:
  WatchedLink(int listeners, int number)
      : facts_(static_cast<size_t>(listeners)), number_(number), open(facts_.size()) {
    for (auto& one : facts_) one.room = 100'000;
  }
  const std::vector<sfio::ListenerFacts>& listeners() const override { return facts_; }
  int find(const std::string&, int) override { return 0; }
  std::unique_ptr<sfio::ListenerCall> start(int listener, Request, std::vector<MemoryRun>) override {
    if (first.empty() || std::ranges::find(first, listener) == first.end()) first.push_back(listener);
    ++open[static_cast<size_t>(listener)];
    most = std::max(most, std::ranges::count_if(open, [](int calls) { return calls > 0; }));
    return std::make_unique<Watched>(*this, listener);
  }
  void back_off(double) override {}
  double now() override { return 0; }
  LinkCounts counts() const override { return {}; }
  int number() const override { return number_; }

 private:
  class Watched final : public sfio::ListenerCall {
   public:
    Watched(WatchedLink& link, int listener) : link_(link), listener_(listener) {}
    bool done() override {
      if (++looks_ == max_looks) --link_.open[static_cast<size_t>(listener_)];
      return looks_ >= max_looks;
    }
    const sfio::Answer& answer() const override { return answer_; }

   private:
    WatchedLink& link_;
    int listener_;
    static constexpr int max_looks = 50;
    int looks_ = 0;
    sfio::Answer answer_;
  };
  std::vector<sfio::ListenerFacts> facts_;
  int number_;

 public:
  std::vector<int> open;   // pending calls to each listener
  std::vector<int> first;  // listeners in the order of their first calls
  int64_t most = 0;        // maximum number of listeners with pending calls at a time
};

TEST(Collective, EachTaskBeginsWithAnotherListenerAndAllHaveWork) {
  std::vector<std::byte> memory(8'000'000);
  std::vector<sfio::SubfileHandle> subfiles;
  for (int i = 0; i < 8; ++i) subfiles.push_back({i, i, "f"});
  for (const int64_t bytes : {8'000, 8'000'000})
    for (int number = 0; number < 10; ++number) {
      const Block all{0, memory.data(), bytes};
      WatchedLink link(8, number);
      sfio::Operation operation(link, Direction::write, {1000, 8}, subfiles, {&all, 1});
      operation.finish();
      EXPECT_EQ(link.most, 8) << "all have work at the same time";
      std::vector<int> round(8);
      for (int i = 0; i < 8; ++i) round[static_cast<size_t>(i)] = (number + i) % 8;
      EXPECT_EQ(link.first, round);
    }
}

}  // namespace
}  // namespace sheaf::test::collective_test
