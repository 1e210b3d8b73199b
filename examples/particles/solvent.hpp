// Multi-particle collision dynamics of a solvent: stochastic rotation dynamics (Malevanets and Kapral 1999)
// with the random grid shift of Ihle and Kroll (2001).
//
// A step consists of streaming (x += v dt), a shift of the collision grid, and the collision. The collision
// rotates the velocities in each cell, relative to the cell's mean, by a fixed angle about a random axis.
// This conserves mass, momentum and kinetic energy in each cell.
//
// The state after step n is a pure function of (seed, number of particles, n), bit for bit, on any number of
// tasks and through any number of restarts: random numbers are keyed by (seed, step, cell), and the sums over
// the particles of a cell run in the order of their ids.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "domain.hpp"
#include "particle.hpp"

namespace particles {

constexpr int particles_per_cell = 10;
constexpr double time_step = 0.1;         // in units of cell edge * sqrt(mass / kT)
constexpr double rotation_angle = 130.0;  // degrees

// Returns the nearly cubic box with about `particles_per_cell` for this number of particles.
Cells box_for(std::int64_t particles);

// Global sums, the same on all tasks. Their rounding depends on the distribution of the particles; the
// particles themselves do not.
struct Conserved {
  std::int64_t particles = 0;
  Vector momentum{};
  double kinetic_energy = 0;
  Digest digest;
};

class Solvent {
 public:
  Solvent(MPI_Comm world, Domain& domain, std::int64_t particles, std::uint64_t seed);

  // Collective. Initializes step 0: particles uniform in the box, velocities normal with variance kT/m, total
  // momentum zero.
  void create();

  // Adopts the particles of a restart, in any distribution over the tasks, as the state after `step`.
  void adopt(std::vector<Particle> particles, std::int64_t step);

  // Collective. Advances all particles by one time step.
  void advance();

  // Collective. Returns the conserved quantities.
  Conserved conserved() const;

  std::int64_t step() const { return step_; }
  std::int64_t total() const { return total_; }
  std::uint64_t seed() const { return seed_; }
  const std::vector<Particle>& particles() const { return particles_; }

 private:
  void stream();
  void sort_by_cell_and_id(const Vector& shift);
  void collide();

  MPI_Comm world_;
  Domain& domain_;
  std::int64_t total_;
  std::uint64_t seed_;
  std::int64_t step_ = 0;
  std::vector<Particle> particles_;
  std::vector<Particle> sorted_;        // the other half of a double buffer
  std::vector<std::uint32_t> cell_of_;  // local cell of each particle before sorting
  std::vector<std::uint32_t> first_;    // particles [first_[c], first_[c + 1]) are in local cell c
  std::vector<std::uint32_t> order_;    // i-th particle in (cell, id) order
};

}  // namespace particles
