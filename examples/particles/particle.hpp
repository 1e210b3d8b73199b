// A solvent particle as stored in memory and in the restart file, and the digest of a set of particles.
//
// The digest does not depend on the order or the distribution of the particles over tasks. Two runs that end
// in the same state, bit for bit, therefore have the same digest, regardless of restarts in between.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace particles {

// The particle record of MP2C (SC09 paper, section 5.1), 56 bytes. Units: lengths in collision cells, mass 1,
// kT 1.
struct Particle {
  std::int64_t id;
  double position[3];
  double velocity[3];
};
static_assert(sizeof(Particle) == 56);

// Mixes bits with the finalizer of SplitMix64: every input bit changes every output bit with probability 1/2.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline std::uint64_t hash(const Particle& p) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(p.id) + 0x9e3779b97f4a7c15u);
  for (double x : p.position) h = mix(h ^ std::bit_cast<std::uint64_t>(x));
  for (double v : p.velocity) h = mix(h ^ std::bit_cast<std::uint64_t>(v));
  return h;
}

// Sum (mod 2^64) and exclusive or of particle hashes. Digests of disjoint sets can be combined in any order.
struct Digest {
  std::uint64_t sum = 0;
  std::uint64_t xor_ = 0;

  bool operator==(const Digest&) const = default;
};

inline Digest digest_of(std::span<const Particle> particles) {
  Digest d;
  for (const Particle& p : particles) {
    const std::uint64_t h = hash(p);
    d.sum += h;
    d.xor_ ^= h;
  }
  return d;
}

}  // namespace particles
