// State of a listener's subfiles after each request: identities when a disk fails, opens that other tasks
// abort, and names that change while files are open.
#include "cluster.hpp"

namespace sheaf::test::service_test {
namespace {

using sfio::Request;
using sfio::RequestKind;
using sfio::Service;

struct ServiceListener {
  MemoryStore disk;
  FaultyStore store{disk};
  Service service{store, "", 1 << 16};

  sfio::Answer ask(RequestKind kind, int64_t handle, int64_t first = 0, int64_t second = 0,
                   const std::string& path = "", const std::string& more = "") {
    Request request;
    request.kind = kind;
    request.handle = handle;
    request.values = {first, second};
    request.path = path;
    request.more = more;
    return service.carry_out(request, {});
  }
  int64_t open(const std::string& path, std::array<uint64_t, 2> file = {1, 2}) {
    format::StripeIdentity identity;
    identity.file = {file[0], file[1]};
    identity.unit = 10;
    identity.count = 1;
    return ask(RequestKind::open, 0, static_cast<int64_t>(sfio::SubfileOpenMode::create), 0, path,
               format::to_bytes(identity))
        .values[0];
  }
  bool resize(int64_t handle, int64_t size) { return ask(RequestKind::resize, handle, size).code == 0; }
  void close(int64_t handle, int64_t size, bool gives_up = false) {
    EXPECT_EQ(ask(RequestKind::close, handle, size, gives_up).code, 0);
  }
  bool locks(int64_t handle) { return ask(RequestKind::lock, handle, 0, 10).values[0] != 0; }
  // Returns the size in the identity, or open_size if the file was not closed.
  int64_t size_of(const std::string& path) {
    return format::stripe_identity_of(disk.contents(path + ".sfio"))->size;
  }
};

TEST(StripeService, AFileCountsAsWrittenAlsoIfThatCouldOnlyBeMarkedLater) {
  ServiceListener l;
  const int64_t first = l.open("/f");
  EXPECT_TRUE(l.resize(first, 100));
  l.close(first, 100);
  EXPECT_EQ(l.size_of("/f"), 100);
  const int64_t again = l.open("/f");
  l.store.set_plan({.fail_at = 0, .kind = StoreOperation::write, .path_contains = ".sfio"});
  EXPECT_FALSE(l.resize(again, 10));
  EXPECT_TRUE(l.resize(again, 10));  // the listener is killed after this call
  EXPECT_EQ(l.size_of("/f"), format::StripeIdentity::open_size);
}

TEST(StripeService, AnOpenThatIsGivenUpLeavesTheCloseToOthers) {
  ServiceListener l;
  const int64_t mine = l.open("/f");
  EXPECT_TRUE(l.resize(mine, 5));
  l.close(l.open("/f"), -1, true);
  l.close(mine, 100);
  EXPECT_EQ(l.size_of("/f"), 100);
  EXPECT_EQ(l.disk.contents("/f").size(), 100u);
}

TEST(StripeService, AFileThatIsRenamedWhileItIsOpenStaysOne) {
  ServiceListener l;
  const int64_t first = l.open("/f"), second = l.open("/f");
  EXPECT_TRUE(l.resize(first, 5));
  EXPECT_TRUE(l.locks(first));
  EXPECT_EQ(l.ask(RequestKind::rename, 0, 0, 0, "/f", "/g").code, 0);
  const int64_t third = l.open("/g");
  EXPECT_FALSE(l.locks(third));
  l.close(first, 5);
  EXPECT_TRUE(l.locks(third));
  l.close(second, 70);
  EXPECT_EQ(l.size_of("/g"), format::StripeIdentity::open_size) << "somebody has it open";
  l.close(third, 20);
  EXPECT_EQ(l.size_of("/g"), 70);
  EXPECT_EQ(l.disk.contents("/g").size(), 70u);
}

TEST(StripeService, AFileThatIsRemovedWhileItIsOpenIsNotTheOneMadeAfterwards) {
  ServiceListener l;
  const int64_t gone = l.open("/f");
  EXPECT_TRUE(l.locks(gone));
  EXPECT_EQ(l.ask(RequestKind::remove, 0, 0, 0, "/f").code, 0);
  const int64_t made = l.open("/f", {3, 4});
  EXPECT_TRUE(l.locks(made));
  EXPECT_TRUE(l.resize(made, 30));
  l.close(gone, 100);
  const int64_t other = l.open("/f", {3, 4});
  l.close(made, 30);
  EXPECT_EQ(l.size_of("/f"), format::StripeIdentity::open_size);
  l.close(other, 30);
  EXPECT_EQ(l.size_of("/f"), 30);
}

}  // namespace
}  // namespace sheaf::test::service_test
