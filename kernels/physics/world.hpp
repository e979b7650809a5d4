#pragma once
// Rigid discs and boxes in a box, stepped function by function.
//
// Each function of a step takes a part of the bodies, or of the grid's cells, and several threads may run it
// on disjoint parts, which begin at multiples of world::grain bodies; between one function and the next all
// must have come. However a step is shared, the bits are the same: a body's new state is computed by one
// thread from the old state and a list of contacts in a fixed order.
//
// All contacts are resolved at once (Jacobi), in one pass or, for bodies that lie on each other, in several.
// A body with n contacts takes part in each of them with 1/n of its mass, and then moves with the mean of its
// n parts: so no contact can add energy, and each keeps momentum (R. Tonge, F. Benevolenski, A. Voroshilov,
// Mass splitting for jitter-free parallel rigid body simulation, ACM Transactions on Graphics 31 (2012) 105).
// There is no friction. Overlap is undone little by little by moving bodies, which adds no velocity. Steps in
// time use the semi-implicit Euler method.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/physics/body.hpp"
#include "kernels/physics/contact.hpp"

namespace tauto::kernels::physics {

struct scene {
    std::size_t bodies = 1000;
    double restitution = 0.95;  ///< of a collision's speed of approach, the part that is left: 0 to 1
    vector2 gravity{};
    double step = 0.02;  ///< of time; a body of unit size moves a fiftieth of its size in it
    int passes = 1;  ///< in which contacts are resolved; a heap under gravity needs one for each layer or so
    std::uint64_t seed = 1;
};

/// Half-open.
struct part {
    std::size_t begin;
    std::size_t end;
};

/// The contacts that some bodies own, in the order of those bodies.
struct contact_list {
    part owners{};
    std::vector<contact> all;
    std::vector<std::uint32_t> outward;  ///< those with a body that is none of the owners; few
};

/// The heights that some bodies may touch.
struct reach {
    double low;
    double high;
};

class world {
  public:
    /// Bodies whose reach is known together.
    static constexpr std::size_t grain = 32;

    /// Every second body a box; sizes, places, directions and velocities from the seed; no two overlap.
    /// Throws error for an impossible scene.
    explicit world(const scene& wanted);
    /// These bodies in a box of this size.
    world(const scene& wanted, std::vector<body> bodies, vector2 size);

    std::span<const body> bodies() const noexcept { return bodies_; }
    /// Of the bodies' centres; stored apart, so that a search for some bodies need not read all of them.
    std::span<const double> heights() const noexcept { return heights_; }
    std::span<const double> radii() const noexcept { return radii_; }
    /// Of bodies [grain k, grain (k + 1)): a search for bodies at some height passes over most at once.
    std::span<const reach> reaches() const noexcept { return reaches_; }
    vector2 size() const noexcept { return size_; }
    std::size_t cells() const noexcept { return columns_ * rows_; }

    // A step, in this order.

    /// Finds out in which cell each body is.
    void place(part of_bodies);
    /// Lists the bodies of each cell. Reads the cells of all bodies. O(all bodies + cells in the part).
    void fill(part of_cells);
    /// Clears `found` and lists the contacts that these bodies own: of two bodies one does.
    void collide(part of_bodies, contact_list& found) const;
    /// Counts the contacts of each body. `lists` are all that were found, in the order of their parts. Of the
    /// lists of others only what reaches outward is read.
    void count(part of_bodies, std::span<const contact_list* const> lists);
    int passes() const noexcept { return scene_.passes; }
    /// passes() times: the impulses of some contacts, then what they do to the bodies' velocities.
    void resolve(std::span<contact> some) const;
    void rebound(part of_bodies, std::span<const contact_list* const> lists);
    /// Moves the bodies.
    void move(part of_bodies, std::span<const contact_list* const> lists);

    /// The whole step on one thread.
    void advance();

    /// Takes the motion of some bodies over from `other`, the same world at another time.
    void take(const world& other, part of_bodies);
    /// Are these bodies where they are in `other`, and do they move so? O(bodies).
    bool moves_like(const world& other, part of_bodies) const;
    /// Of every bit of all bodies' motion.
    std::uint64_t hash() const;

    conserved conserved_now() const { return conserved_of(bodies_, scene_.gravity); }

  private:
    std::size_t cell_of(vector2 position) const;
    void find_reaches(part of_bodies);
    void collide_with(std::size_t first, std::size_t cell, bool same_cell, std::vector<contact>& found) const;

    scene scene_;
    std::vector<body> bodies_;
    vector2 size_;
    double cell_size_ = 1.0;
    std::size_t columns_ = 1;
    std::size_t rows_ = 1;
    std::vector<double> heights_;
    std::vector<double> radii_;
    std::vector<reach> reaches_;
    std::vector<std::uint32_t> cell_;      // of each body
    std::vector<std::uint32_t> begin_;     // of each cell in members_, and one more for its end
    std::vector<std::uint32_t> end_;       // likewise
    std::vector<std::uint32_t> members_;   // bodies, cell by cell
    std::vector<std::uint32_t> touching_;  // contacts of each body
    contact_list own_;                     // of advance()
};

}  // namespace tauto::kernels::physics
