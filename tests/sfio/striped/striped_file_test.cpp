// Striped files over listeners: the paper's examples, arbitrary blocks compared with a model in memory,
// identities and sizes.
#include <algorithm>
#include <random>

#include "cluster.hpp"

namespace sheaf::test::striped_file_test {

using namespace sfio;

namespace {

TEST(StripedFile, ThePaperFirstExample) {
  StripedCluster cluster(1, 2);
  cluster.run([](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), 5);
    write_text(*file, 0, "Hello World");
    file->close();
  });
  EXPECT_EQ(cluster.contents(0), "Hellod");
  EXPECT_EQ(cluster.contents(1), " Worl");
}

TEST(StripedFile, ThePaperFigureFour) {
  StripedCluster cluster(3, 2);
  cluster.run([](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), 5);
    write_text(*file, 13 * task.comm.rank(), "Hello*World!*");
    task.comm.barrier();
    EXPECT_EQ(read_text(*file, 0, 100), "Hello*World!*Hello*World!*Hello*World!*");
    file->close();
  });
  EXPECT_EQ(cluster.contents(0), "Hellod!*Heorld!o*Wor");
  EXPECT_EQ(cluster.contents(1), "*Worlllo*W*Hellld!*");
}

// One file; several tasks in turn write and read random blocks, compared with a string.
void random_blocks(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  StripedCluster cluster(static_cast<int>(draw(1, 3)), static_cast<int>(draw(1, 4)));
  cluster.room = draw(1, 200);
  cluster.seed = seed;
  const auto subfiles = static_cast<int>(draw(1, 6));
  const int64_t unit = draw(1, 40);
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::string model;
  const std::string name = name_on(cluster.listeners, subfiles);
  struct StripedStep {
    int task;
    bool writes;
    std::vector<std::pair<int64_t, std::string>> blocks;
  };
  std::vector<StripedStep> steps;
  for (int i = 0; i < 12; ++i) {
    StripedStep step{static_cast<int>(draw(0, cluster.compute - 1)), draw(0, 2) != 0, {}};
    for (int64_t n = draw(0, 6); n > 0; --n) {
      std::string text(static_cast<size_t>(draw(0, 300)), ' ');
      for (char& c : text) c = static_cast<char>(draw('a', 'z'));
      step.blocks.emplace_back(draw(0, 500), text);
    }
    steps.push_back(step);
  }
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name, unit);
    for (StripedStep step : steps) {
      if (step.task == task.comm.rank()) {
        std::vector<Block> blocks;
        for (auto& [offset, text] : step.blocks) blocks.push_back(block(offset, text));
        if (step.writes) {
          file->write(blocks);
          for (auto& [offset, text] : step.blocks) {
            if (text.empty()) continue;
            model.resize(std::max(model.size(), static_cast<size_t>(offset) + text.size()), '\0');
            model.replace(static_cast<size_t>(offset), text.size(), text);
          }
        } else {
          file->read(blocks);
          for (auto& [offset, text] : step.blocks) {
            std::string expected = static_cast<size_t>(offset) < model.size()
                                       ? model.substr(static_cast<size_t>(offset), text.size())
                                       : "";
            expected.resize(text.size(), '\0');
            EXPECT_EQ(text, expected);
          }
        }
        EXPECT_EQ(file->status().size, std::ssize(model));
      }
      task.comm.barrier();
    }
    EXPECT_EQ(read_text(*file, 0, 2000), model);
    file->close();
  });
  // The disks must hold exactly the bytes of the layout.
  const layout::Stripes stripes{unit, subfiles};
  const StripeName parsed = parse_stripe_name(name);
  for (int s = 0; s < subfiles; ++s) {
    std::string expected;
    for (int64_t i = 0; i < std::ssize(model); ++i)
      if (stripes.subfile_of(i) == s) expected += model[static_cast<size_t>(i)];
    EXPECT_EQ(cluster.contents(s % cluster.listeners, parsed.subfiles[static_cast<size_t>(s)].path),
              expected);
  }
}

TEST(StripedFile, AnyBlocksAgainstAModel) {
  for (uint64_t seed = 1; seed <= 300; ++seed) random_blocks(seed);
}

TEST(StripedFile, OneMessageAndOneDiskRequestPerListener) {
  StripedCluster cluster(1, 4);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(4, 4), 200);
    const auto before = task.link->counts();
    write_text(*file, 137, std::string(100'000, 'x'));
    EXPECT_EQ(task.link->counts().messages - before.messages, 4);
    std::string text(100'000, ' ');
    const Block one = block(137, text);
    file->read({&one, 1});
    EXPECT_EQ(task.link->counts().messages - before.messages, 8);
    EXPECT_EQ(text, std::string(100'000, 'x'));
    // A call that touches one listener must send one message.
    write_text(*file, 0, "abc");
    EXPECT_EQ(task.link->counts().messages - before.messages, 9);
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(cluster.served[static_cast<size_t>(i)].transfers, i == 0 ? 3 : 2);
    EXPECT_EQ(cluster.served[static_cast<size_t>(i)].disk_requests, i == 0 ? 3 : 2);
  }
}

// Records the listener of each message.
class NotingLink final : public Link {
 public:
  NotingLink(std::shared_ptr<Link> link, std::vector<int>& noted) : link_(std::move(link)), noted_(noted) {}
  const std::vector<ListenerFacts>& listeners() const override { return link_->listeners(); }
  int find(const std::string& name, int occurrence) override { return link_->find(name, occurrence); }
  std::unique_ptr<ListenerCall> start(int listener, Request request, std::vector<MemoryRun> memory) override {
    noted_.push_back(listener);
    return link_->start(listener, std::move(request), std::move(memory));
  }
  void back_off(double idle) override { link_->back_off(idle); }
  double now() override { return link_->now(); }
  LinkCounts counts() const override { return link_->counts(); }
  int number() const override { return link_->number(); }

 private:
  std::shared_ptr<Link> link_;
  std::vector<int>& noted_;
};

// Task t first writes to subfile 3 t of four. These offsets must not determine which listener the task
// contacts first.
TEST(StripedFile, TasksBeginWithDifferentListenersWhereverTheirBytesBegin) {
  StripedCluster cluster(4, 4);
  std::vector<std::vector<int>> noted(4);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const int rank = task.comm.rank();
    std::vector<StripedFile::SubfileToken> token(4);
    std::unique_ptr<StripedFile> file;
    std::vector<int>& mine = noted[static_cast<size_t>(rank)];
    const auto link = std::make_shared<NotingLink>(task.link, mine);
    if (rank == 0) {
      auto wanted = parse_stripe_name(name_on(4, 4));
      wanted.unit = 10;
      file = StripedFile::open(link, wanted, SubfileOpenMode::create);
      token = file->token();
    }
    task.comm.broadcast(std::as_writable_bytes(std::span(token)), 0);
    if (!file) file = StripedFile::adopt(link, "f", token);
    mine.clear();
    std::vector<std::byte> data(40);
    const Block block{30 * rank, data.data(), 40};
    file->write({&block, 1});
    task.comm.barrier();
  });
  for (int rank = 0; rank < 4; ++rank)
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(noted[static_cast<size_t>(rank)][static_cast<size_t>(i)], (rank + i) % 4);
}

TEST(StripedFile, MessagesAreCutAtTheListenersBuffer) {
  StripedCluster cluster(1, 2);
  cluster.room = 1000;
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), 7);
    const auto before = task.link->counts();
    write_text(*file, 0, std::string(5000, 'x'));
    EXPECT_EQ(task.link->counts().messages - before.messages, 6);
    file->close();
  });
  EXPECT_EQ(cluster.contents(0).size() + cluster.contents(1).size(), 5000u);
}

TEST(StripedFile, SimpleTransfersGiveTheSameFileWithAMessagePerPiece) {
  StripedCluster cluster(1, 3);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(3, 3), 10);
    std::string text = "the quick brown fox jumps over the lazy dog and runs away";
    const auto before = task.link->counts();
    file->transfer_simply(Direction::write, block(3, text));
    EXPECT_EQ(task.link->counts().messages - before.messages, (3 + std::ssize(text) + 9) / 10);
    EXPECT_EQ(read_text(*file, 3, 100), text);
    std::string back(text.size(), ' ');
    file->transfer_simply(Direction::read, block(3, back));
    EXPECT_EQ(back, text);
    file->close();
  });
}

TEST(StripedFile, HolesReadAsZeroAndTheSizeIsThatOfTheLastByte) {
  StripedCluster cluster(1, 3);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(3, 3), 4);
    EXPECT_EQ(file->status().size, 0);
    write_text(*file, 21, "x");
    EXPECT_EQ(file->status().size, 22);
    EXPECT_EQ(read_text(*file, 0, 50), std::string(21, '\0') + "x");
    file->resize(30);
    EXPECT_EQ(file->status().size, 30);
    file->resize(5);
    EXPECT_EQ(read_text(*file, 0, 50), std::string(5, '\0'));
    file->close();
  });
  EXPECT_EQ(cluster.contents(0).size(), 4u);
  EXPECT_EQ(cluster.contents(1).size(), 1u);
}

TEST(StripedFile, OffsetsMayBeLarge) {
  StripedCluster cluster(1, 2);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), 200);
    const int64_t far = (int64_t{1} << 45) + 77;
    write_text(*file, far, std::string(1000, 'z'));
    EXPECT_EQ(file->status().size, far + 1000);
    EXPECT_EQ(read_text(*file, far - 2, 2000), std::string(2, '\0') + std::string(1000, 'z'));
    EXPECT_EQ(code_of([&] { write_text(*file, INT64_MAX - 3, "12345"); }), Code::invalid_argument);
    EXPECT_EQ(code_of([&] { write_text(*file, -1, "12345"); }), Code::invalid_argument);
    file->close();
  });
}

TEST(StripedFile, LaterBlocksOfACallWin) {
  StripedCluster cluster(1, 2);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), 3);
    std::string a(20, 'a'), b(5, 'b'), c(2, 'c');
    const Block blocks[] = {block(4, a), block(8, b), block(6, c)};
    file->write(blocks);
    EXPECT_EQ(read_text(*file, 4, 100), "aaccbbbbbaaaaaaaaaaa");
    const Block others[] = {block(8, b), block(4, a)};
    file->write(others);
    EXPECT_EQ(read_text(*file, 4, 100), a);
    file->close();
  });
}

TEST(StripedFile, SharedBetweenTasksByItsToken) {
  StripedCluster cluster(3, 2);
  cluster.run([](StripedCluster::ComputeTask& task) {
    std::unique_ptr<StripedFile> file;
    std::vector<StripedFile::SubfileToken> token(2);
    if (task.comm.rank() == 0) {
      file = open_named(task, name_on(2, 2), 5);
      token = file->token();
    }
    task.comm.broadcast(std::as_writable_bytes(std::span(token)), 0);
    if (!file) file = StripedFile::adopt(task.link, "f", token);
    write_text(*file, 13 * task.comm.rank(), "Hello*World!*");
    task.comm.barrier();
    if (task.comm.rank() == 0) file->close();
  });
  EXPECT_EQ(cluster.contents(0), "Hellod!*Heorld!o*Wor");
}

TEST(StripedFile, ManyTasksMakeItAtOnce) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    StripedCluster cluster(5, 3);
    cluster.seed = seed;
    cluster.run([&](StripedCluster::ComputeTask& task) {
      const auto file = open_named(task, name_on(3, 3), 8);
      write_text(*file, 10 * task.comm.rank(), std::string(10, static_cast<char>('a' + task.comm.rank())));
      task.comm.barrier();
      EXPECT_EQ(read_text(*file, 0, 100), "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee");
      file->close();
    });
  }
}

}  // namespace
}  // namespace sheaf::test::striped_file_test
