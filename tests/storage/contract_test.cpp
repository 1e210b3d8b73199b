// The contract of Store and File (storage/store.hpp), for every store and decorator.
#include <fcntl.h>

#include <functional>
#include <thread>

#include "sfio/direct_link.hpp"
#include "sfio/stripe_name.hpp"
#include "sfio/striped_store.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "support/stores/recording_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::contract_test {
namespace {

// One store under test, with the place for its files.
struct StoreUnderTest {
  TemporaryDirectory temporary;
  MemoryStore memory;
  std::unique_ptr<test::SimulatedHosts> hosts;
  std::unique_ptr<Store> decorator;
  Store* store = nullptr;

  bool striped = false;  // names become those of striped files

  std::string operator/(std::string_view name) const {
    const std::string path = temporary / name;
    return striped ? "sfio:unit=7;localhost," + path + ";localhost," + path + ".1;localhost," + path + ".2;"
                   : path;
  }
  Store* operator->() const { return store; }
};

struct StoreKind {
  const char* name;
  std::function<void(StoreUnderTest&)> set_up;
};

void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

class StoreContract : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    GetParam().set_up(store);
    store.memory.add_directory(store.temporary.path());
    if (store.hosts) store.hosts->add_directory(store.temporary.path());
  }
  std::shared_ptr<File> fresh(std::string_view name, std::string_view contents = "") {
    auto file = store->open(store / name, Access::fresh);
    file->write_at(bytes(contents), 0);
    return file;
  }
  StoreUnderTest store;
};

TEST_P(StoreContract, ReadsBackWhatWasWritten) {
  const auto file = fresh("a");
  const auto data = pattern(100'000);
  file->write_at(data, 12'345);
  Bytes back(data.size());
  EXPECT_EQ(file->read_at(back, 12'345), back.size());
  EXPECT_EQ(back, data);
  EXPECT_EQ(file->path(), store / "a");
}

TEST_P(StoreContract, BytesOutsideAWriteAreUntouched) {
  const auto file = fresh("a", "0123456789");
  file->write_at(bytes("abc"), 4);
  EXPECT_EQ(read_text(*file, 0, 99), "0123abc789");
}

TEST_P(StoreContract, WritesPiecesOneBehindTheOtherAndApart) {
  const auto file = fresh("a", "..........");
  const auto first = bytes("ab");
  const auto second = bytes("cde");
  const auto third = bytes("f");
  const Piece<const std::byte> pieces[] = {{3, first}, {5, {}},    {5, second},
                                           {9, third}, {1, third}, {99, {}}};
  file->write_pieces(pieces);
  EXPECT_EQ(read_text(*file, 0, 99), ".f.abcde.f");
  file->write_pieces({});
  EXPECT_EQ(file->status().size, 10);
}

TEST_P(StoreContract, ReadsPiecesAndZerosBehindTheEnd) {
  const auto file = fresh("a", "0123456789");
  Bytes memory(9, std::byte{'?'});
  const auto part = [&](size_t at, size_t length) { return std::span(memory).subspan(at, length); };
  const Piece<std::byte> pieces[] = {{8, part(0, 4)}, {1, part(4, 2)}, {5, {}}, {77, part(7, 2)}};
  file->read_pieces(pieces);
  EXPECT_EQ(text(memory), std::string("89\0\0"
                                      "12"
                                      "?"
                                      "\0\0",
                                      9));
  file->read_pieces({});
}

TEST_P(StoreContract, WritesMorePiecesThanOneSystemCallTakes) {
  const auto file = fresh("a");
  const auto data = pattern(5000);
  std::vector<Piece<const std::byte>> pieces;
  for (size_t i = 0; i < data.size(); ++i)
    pieces.push_back({static_cast<int64_t>(i) + 1, std::span(data).subspan(i, 1)});
  file->write_pieces(pieces);
  Bytes back(data.size());
  EXPECT_EQ(file->read_at(back, 1), back.size());
  EXPECT_EQ(back, data);
}

TEST_P(StoreContract, ReadsLessOnlyAtTheEnd) {
  const auto file = fresh("a", "0123456789");
  EXPECT_EQ(read_text(*file, 8, 99), "89");
  EXPECT_EQ(read_text(*file, 10, 99), "");
  EXPECT_EQ(read_text(*file, 1'000'000, 99), "");
  EXPECT_EQ(read_text(*file, 3, 0), "");
}

TEST_P(StoreContract, HolesReadAsZero) {
  const auto file = fresh("a");
  const int64_t far = int64_t{1} << 40;
  file->write_at(bytes("x"), far);
  EXPECT_EQ(file->status().size, far + 1);
  EXPECT_EQ(read_text(*file, 77, 3), std::string(3, '\0'));
  EXPECT_EQ(read_text(*file, far - 2, 9), std::string("\0\0x", 3));
}

TEST_P(StoreContract, NextDataSkipsHolesAndEndsAtTheFileSize) {
  const auto file = fresh("a");
  const int64_t far = int64_t{1} << 30;
  file->write_at(bytes("x"), far);
  file->resize(far + (1 << 20));
  const auto found = file->next(Space::data, 0);
  EXPECT_TRUE(found == 0 || (found > far - (1 << 20) && found <= far)) << found;
  EXPECT_EQ(file->next(Space::data, far), far);
  const auto end = file->next(Space::data, far + (1 << 19));
  EXPECT_TRUE(end == far + (1 << 19) || end == far + (1 << 20)) << end;
  EXPECT_EQ(file->next(Space::data, far + (1 << 20)), far + (1 << 20));
  EXPECT_EQ(file->next(Space::data, far + (1 << 20) + 99), far + (1 << 20)) << "beyond the end";
}

TEST_P(StoreContract, NextHoleEndsTheData) {
  const auto file = fresh("a");
  const int64_t length = 1 << 20;
  file->write_at(pattern(length), 0);
  file->resize(16 * length);
  file->write_at(bytes("x"), 16 * length - 1);
  file->sync();
  const auto hole = file->next(Space::hole, 5);
  EXPECT_TRUE((hole >= length && hole < 2 * length) || hole == 16 * length) << hole;
  const auto inside = file->next(Space::hole, 8 * length);
  EXPECT_TRUE(inside == 8 * length || inside == 16 * length) << inside;
  EXPECT_EQ(file->next(Space::hole, 16 * length - 1), 16 * length);
  EXPECT_EQ(error_of([&] { file->next(Space::hole, -1); }).code(), Code::invalid_argument);
}

TEST_P(StoreContract, ResizeCutsAndExtendsWithZeros) {
  const auto file = fresh("a", "0123456789");
  file->resize(4);
  EXPECT_EQ(file->status().size, 4);
  file->resize(6);
  EXPECT_EQ(read_text(*file, 0, 99), std::string("0123\0\0", 6));
  file->resize(0);
  EXPECT_EQ(file->status().size, 0);
}

TEST_P(StoreContract, WritingNothingChangesNothing) {
  const auto file = fresh("a");
  file->write_at({}, 1000);
  EXPECT_EQ(file->status().size, 0);
}

TEST_P(StoreContract, RefusesRangesThatNoFileHas) {
  const auto file = fresh("a");
  Bytes data(2);
  EXPECT_EQ(error_of([&] { file->write_at(data, -1); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { file->write_at(data, INT64_MAX - 1); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { file->read_at(data, INT64_MIN); }).code(), Code::invalid_argument);
  const Piece<const std::byte> beyond[] = {{0, data}, {INT64_MAX - 1, data}};
  EXPECT_EQ(error_of([&] { file->write_pieces(beyond); }).code(), Code::invalid_argument);
  const Piece<std::byte> room[] = {{INT64_MAX - 1, data}};
  EXPECT_EQ(error_of([&] { file->read_pieces(room); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { file->resize(-1); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { file->next(Space::data, -1); }).code(), Code::invalid_argument);
}

TEST_P(StoreContract, RefusesToChangeAFileOpenedForReading) {
  fresh("a", "abc")->close();
  const auto file = store->open(store / "a", Access::read);
  const auto data = bytes("x");
  const Piece<const std::byte> pieces[] = {{0, data}};
  EXPECT_EQ(error_of([&] { file->write_at(data, 0); }).code(), Code::wrong_mode);
  EXPECT_EQ(error_of([&] { file->write_pieces(pieces); }).code(), Code::wrong_mode);
  EXPECT_EQ(error_of([&] { file->resize(0); }).code(), Code::wrong_mode);
  EXPECT_EQ(read_text(*file, 0, 9), "abc");
}

TEST_P(StoreContract, OpensAsTheAccessSays) {
  EXPECT_EQ(error_of([&] { store->open(store / "a", Access::read); }).code(), Code::not_found);
  EXPECT_EQ(error_of([&] { store->open(store / "a", Access::write); }).code(), Code::not_found);
  EXPECT_FALSE(store->status(store / "a").exists);
  store->open(store / "a", Access::create)->write_at(bytes("abc"), 0);
  const auto error = error_of([&] { store->open(store / "a", Access::fresh); });
  EXPECT_EQ(error.errno_value(), EEXIST);
  EXPECT_NE(std::string(error.what()).find(store / "a"), std::string::npos) << error.what();
  EXPECT_EQ(read_text(*store->open(store / "a", Access::create), 0, 9), "abc");
  EXPECT_EQ(read_text(*store->open(store / "a", Access::write), 0, 9), "abc");
  EXPECT_EQ(read_text(*store->open(store / "a", Access::read), 0, 9), "abc");
}

TEST_P(StoreContract, RefusesToOpenADirectory) {
  for (const auto access : {Access::read, Access::write, Access::create}) {
    const auto error = error_of([&] { store->open(store.temporary.path(), access); });
    EXPECT_EQ(error.errno_value(), EISDIR);
    EXPECT_NE(std::string(error.what()).find("s a directory"), std::string::npos) << error.what();
  }
  EXPECT_THROW(store->open(store.temporary.path(), Access::fresh), Error);
  EXPECT_THROW(store->open("", Access::create), Error);
}

TEST_P(StoreContract, StatusTellsWhatIsThere) {
  EXPECT_FALSE(store->status(store / "a").exists);
  const auto file = fresh("a", "abc");
  for (const auto& status : {store->status(store / "a"), file->status()}) {
    EXPECT_TRUE(status.exists);
    EXPECT_FALSE(status.is_directory);
    EXPECT_EQ(status.size, 3);
    EXPECT_GT(status.block_size, 0);
  }
  EXPECT_TRUE(store->status(store.temporary.path()).is_directory);
  EXPECT_TRUE(store->status(store.temporary.path()).exists);
}

TEST_P(StoreContract, RemovedFilesLiveWhileOpen) {
  const auto file = fresh("a", "abc");
  store->remove(store / "a");
  EXPECT_FALSE(store->status(store / "a").exists);
  EXPECT_EQ(read_text(*file, 0, 9), "abc");
  fresh("a", "new");
  EXPECT_EQ(read_text(*file, 0, 9), "abc");
  EXPECT_EQ(read_text(*store->open(store / "a", Access::write), 0, 9), "new");
  store->remove(store / "a");
  EXPECT_EQ(error_of([&] { store->remove(store / "a"); }).code(), Code::not_found);
}

TEST_P(StoreContract, RenameReplaces) {
  const auto old = fresh("to", "old");
  const auto file = fresh("from", "new");
  store->rename(store / "from", store / "to");
  EXPECT_FALSE(store->status(store / "from").exists);
  EXPECT_EQ(read_text(*store->open(store / "to", Access::write), 0, 9), "new");
  EXPECT_EQ(read_text(*old, 0, 9), "old");
  EXPECT_EQ(error_of([&] { store->rename(store / "from", store / "to"); }).code(), Code::not_found);
  EXPECT_THROW(store->rename(store / "to", store.temporary.path()), Error);
  EXPECT_TRUE(store->status(store / "to").exists);
}

TEST_P(StoreContract, CopiesBetweenFiles) {
  const auto from = fresh("from");
  const auto to = fresh("to", "abc");
  const auto data = pattern(9'000'000);
  from->write_at(data, 5);
  copy_range(*from, *to, 5, 100, static_cast<int64_t>(data.size()));
  Bytes back(data.size());
  EXPECT_EQ(to->read_at(back, 100), back.size());
  EXPECT_TRUE(back == data);
  EXPECT_EQ(read_text(*to, 0, 4), std::string("abc\0", 4));
  copy_range(*from, *to, 0, 0, 0);
}

TEST_P(StoreContract, CopiesWithinAFileUnlessRangesOverlap) {
  const auto file = fresh("a", "0123456789");
  copy_range(*file, *file, 0, 5, 5);
  EXPECT_EQ(read_text(*file, 0, 99), "0123401234");
  EXPECT_EQ(error_of([&] { copy_range(*file, *file, 0, 4, 5); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { copy_range(*file, *file, 4, 0, 5); }).code(), Code::invalid_argument);
}

TEST_P(StoreContract, CopyingBeyondTheEndIsDamage) {
  const auto from = fresh("from", "0123456789");
  const auto to = fresh("to");
  const auto error = error_of([&] { copy_range(*from, *to, 5, 0, 6); });
  EXPECT_EQ(error.code(), Code::damaged);
  EXPECT_NE(std::string(error.what()).find(store / "from"), std::string::npos) << error.what();
  EXPECT_EQ(error_of([&] { copy_range(*from, *to, 5, 0, -1); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { copy_range(*from, *to, -5, 0, 1); }).code(), Code::invalid_argument);
}

TEST_P(StoreContract, CopyIntoAFileOpenedForReadingIsRefused) {
  const auto from = fresh("from", "0123456789");
  fresh("to")->close();
  const auto to = store->open(store / "to", Access::read);
  EXPECT_EQ(error_of([&] { copy_range(*from, *to, 0, 0, 6); }).code(), Code::wrong_mode);
}

TEST_P(StoreContract, CopiesIntoAFileOfAnotherStore) {
  const auto from = fresh("from", "0123456789");
  MemoryStore other;
  const auto to = other.open("to", Access::fresh);
  copy_range(*from, *to, 2, 0, 3);
  EXPECT_EQ(text(other.contents("to")), "234");
  copy_range(*to, *from, 0, 0, 3);
  EXPECT_EQ(read_text(*from, 0, 99), "2343456789");
}

TEST_P(StoreContract, ContentsOutliveClose) {
  auto file = fresh("a", "abc");
  file->sync();
  file->close();
  file->close();
  file.reset();
  EXPECT_EQ(read_text(*store->open(store / "a", Access::read), 0, 9), "abc");
}

TEST_P(StoreContract, AClosedFileIsRefused) {
  const auto file = fresh("a", "abc");
  file->close();
  Bytes data(2);
  EXPECT_EQ(error_of([&] { file->write_at(data, 0); }).errno_value(), EBADF);
  EXPECT_EQ(error_of([&] { file->read_at(data, 0); }).errno_value(), EBADF);
  EXPECT_THROW(file->sync(), Error);
  EXPECT_THROW(file->resize(1), Error);
}

TEST_P(StoreContract, ThreadsShareAFile) {
  const auto file = fresh("a");
  constexpr size_t count = 4;
  constexpr size_t length = 50'000;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const auto mine = store->open(store / "a", Access::write);
      const auto data = pattern(length, static_cast<unsigned>(i));
      for (size_t at = 0; at < length; at += 500)
        mine->write_at(std::span(data).subspan(at, 500), static_cast<int64_t>(i * length + at));
      mine->close();
    });
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < count; ++i) {
    Bytes back(length);
    file->read_at(back, static_cast<int64_t>(i * length));
    EXPECT_TRUE(back == pattern(length, static_cast<unsigned>(i))) << i;
  }
}

TEST_P(StoreContract, OpensWhatLiesBesideAnotherFileOnlyIfItIsThere) {
  EXPECT_EQ(error_of([&] { store->open(store / "a", Access::sidecar); }).code(), Code::not_found);
  EXPECT_FALSE(store->status(store / "a").exists);
  fresh("a", "abc")->close();
  const auto file = store->open(store / "a", Access::sidecar);
  file->write_at(bytes("x"), 1);
  EXPECT_EQ(read_text(*file, 0, 9), "axc");
}

TEST_P(StoreContract, TellsThatAnOpenFileWasRemoved) {
  if (store.striped) GTEST_SKIP() << "subfiles are not counted";
  const auto file = fresh("a");
  const auto replaced = fresh("b");
  EXPECT_EQ(file->status().links, 1);
  EXPECT_TRUE(file->status().is_own);
  store->rename(store / "a", store / "b");
  EXPECT_EQ(file->status().links, 1);
  EXPECT_EQ(replaced->status().links, 0);
  store->remove(store / "b");
  EXPECT_EQ(file->status().links, 0);
}

template <class Decorator>
std::function<void(StoreUnderTest&)> over_memory() {
  return [](StoreUnderTest& s) {
    s.decorator = std::make_unique<Decorator>(s.memory);
    s.store = s.decorator.get();
  };
}

template <class Decorator>
std::function<void(StoreUnderTest&)> over_posix() {
  return [](StoreUnderTest& s) {
    s.decorator = std::make_unique<Decorator>(posix_store());
    s.store = s.decorator.get();
  };
}

// Decorator of a Store. Striped names lead to striped files, other names to another store.
class WithStriped final : public ForwardingStore {
 public:
  WithStriped(std::shared_ptr<Store> striped, Store& others)
      : ForwardingStore(others), striped_(std::move(striped)) {}

 private:
  std::shared_ptr<Store> store_of(const std::string& path) override {
    return sfio::is_stripe_path(path) ? striped_ : ForwardingStore::store_of(path);
  }

  std::shared_ptr<Store> striped_;
};

template <class Inner>
std::function<void(StoreUnderTest&)> striped_over(Inner inner) {
  return [inner](StoreUnderTest& s) {
    Store& below = inner(s);
    s.decorator =
        std::make_unique<WithStriped>(sfio::make_striped_store(sfio::direct_link(below, "", "")), below);
    s.store = s.decorator.get();
    s.striped = true;
  };
}

// Returns a subject that is a single simulated host. It must fulfil the contract, whatever its caches do.
auto on_a_host(test::HostsOptions options) {
  return [options](StoreUnderTest& s) {
    s.hosts = std::make_unique<test::SimulatedHosts>(options);
    s.decorator = std::make_unique<test::HostsStore>(*s.hosts, 0, 0);
    s.store = s.decorator.get();
  };
}

INSTANTIATE_TEST_SUITE_P(
    Stores, StoreContract,
    ::testing::Values(StoreKind{"posix", [](StoreUnderTest& s) { s.store = &posix_store(); }},
                      StoreKind{"memory", [](StoreUnderTest& s) { s.store = &s.memory; }},
                      StoreKind{"hosts_close_to_open", on_a_host({.pressure = 3, .timeout = 5})},
                      StoreKind{"hosts_coherent",
                                on_a_host({.coherence = Coherence::coherent, .locks = LockScope::global})},
                      StoreKind{"hosts_local", on_a_host({.coherence = Coherence::local})},
                      StoreKind{"shared_handles_over_posix", over_posix<SharedHandles>()},
                      StoreKind{"shared_handles_over_memory", over_memory<SharedHandles>()},
                      StoreKind{"faulty_over_posix", over_posix<FaultyStore>()},
                      StoreKind{"faulty_over_memory", over_memory<FaultyStore>()},
                      StoreKind{"recording_over_posix", over_posix<RecordingStore>()},
                      StoreKind{"recording_over_memory", over_memory<RecordingStore>()},
                      StoreKind{"striped_over_posix",
                                striped_over([](StoreUnderTest&) -> Store& { return posix_store(); })},
                      StoreKind{"striped_over_memory",
                                striped_over([](StoreUnderTest& s) -> Store& { return s.memory; })}),
    [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace sheaf::testing::contract_test
