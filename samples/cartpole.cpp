// Swings up a pole on a cart: the physics is simulated by a differentiable program, and the force at each moment is found by gradient
// descent through the whole simulation.
//
//     cartpole [PICTURE.SVG]
//
// What it shows: a state that is a struct, a step of Runge and Kutta on it by tree::map, scan over the steps, grad through the scan, an
// optimiser that is a scan itself, vmap over several first guesses at once, all of it compiled by one jit.
// Returns 0 if the simulation conserves energy when nothing drives it, its gradient agrees with differences, and the best control brings
// the pole up and to rest, on the rail.
#include <weft/plot.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

using namespace weft;

/// Position of the cart and angle of the pole (0 hangs down, pi stands upright), and how fast they change.
struct State {
  Array position, angle, velocity, spin;
};

static constexpr int kSteps = 120, kGuesses = 8, kUpdates = 400;
static constexpr double kCart = 1, kPole = .3, kLength = .5, kGravity = 9.81, kTime = 2.4, kStep = kTime / kSteps, kMaxForce = 20,
                        kRail = 1.5;

/// How the state changes under a force on the cart. The pole's mass is a point at its end.
static State derivative(const State& s, const Array& force) {
  const Array sine = sin(s.angle), cosine = cos(s.angle), mass = kCart + kPole * sine * sine;
  const Array pull = kPole * sine * (kLength * s.spin * s.spin + kGravity * cosine);
  const Array turn = -force * cosine - kPole * kLength * s.spin * s.spin * cosine * sine - (kCart + kPole) * kGravity * sine;
  return {s.velocity, s.spin, (force + pull) / mass, turn / (kLength * mass)};
}

/// One step of the classical method of Runge and Kutta.
static State advance(const State& s, const Array& force) {
  auto along = [&](const State& derivative, double by) { return tree::map([=](Array x, Array d) { return x + by * d; }, s, derivative); };
  const State a = derivative(s, force), b = derivative(along(a, kStep / 2), force);
  const State c = derivative(along(b, kStep / 2), force), d = derivative(along(c, kStep), force);
  const State derivative = tree::map([](Array p, Array q, Array r, Array t) { return (p + 2 * q + 2 * r + t) / 6; }, a, b, c, d);
  return along(derivative, kStep);
}

/// The states after each step.
static State simulate(const State& start, const Array& forces) {
  auto step = [](const State& s, Array force) {
    const State next = advance(s, force);
    return std::pair{next, next};
  };
  return scan(step, start, forces).second;
}

static Array energy(const State& s) {
  const Array tip_x = s.velocity + kLength * s.spin * cos(s.angle), tip_y = kLength * s.spin * sin(s.angle);
  return kCart / 2 * square(s.velocity) + kPole / 2 * (square(tip_x) + square(tip_y)) - kPole * kGravity * kLength * cos(s.angle);
}

static const State kHanging{0.f, 0.f, 0.f, 0.f};

/// The forces that a control stands for: it may be any number, a force not.
static Array forces_of(const Array& control) { return kMaxForce * tanh(control); }

/// What is to be small: at the end the pole's distance from upright and the speeds, everywhere the way beyond the rail's middle and the
/// force.
static Array cost(const Array& control) {
  const Array forces = forces_of(control);
  const State path = simulate(kHanging, forces);
  const State end = tree::map([](Array x) { return x(-1); }, path);
  const Array rest = square(end.spin) + square(end.velocity) + square(end.position);
  return 20 * (1 + cos(end.angle)) + rest + .1f * mean(square(path.position)) +
         mean(square(nn::relu(abs(path.position) - .8f * kRail))) * 100 + 1e-4f * mean(square(forces));
}

struct Adam {
  Array control, mean, square, count;
};

/// Descends from a first guess: the control found, and the cost before each update.
static std::pair<Array, Array> optimise(const Array& guess) {
  auto update = [](const Adam& a, None) {
    const auto [value, gradient] = value_and_grad(cost)(a.control);
    const Array clipped = gradient / maximum(1, linalg::norm(gradient)), count = a.count + 1;
    const Array mean = .9f * a.mean + .1f * clipped, square = .99f * a.square + .01f * clipped * clipped;
    const Array by = mean / (1 - pow(.9f, count)) / (sqrt(square / (1 - pow(.99f, count))) + 1e-6f);
    // Steps that shrink to nothing: of constant ones the last may lead anywhere near the least cost.
    const Array length = .03f * (1 - a.count / kUpdates);
    return std::pair{Adam{a.control - length * by, mean, square, count}, value};
  };
  const auto [last, costs] = scan(update, Adam{guess, zeros_like(guess), zeros_like(guess), 0.f}, none, {.length = kUpdates});
  return {last.control, costs};
}

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The movement as a strobe, the angle and the force over time, and the cost of each guess.
static void draw(const std::string& path, const State& states, const Array& forces, const Array& costs) {
  const std::vector<double> x = states.position.to_vector<double>(), angle = states.angle.to_vector<double>();
  Plot way({.title = "the pole's way up, from dark to light",
            .x_label = "position of the cart, m",
            .width = 420,
            .height = 330,
            .equal_scales = true});
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const double pole = 2 * kLength;
    way.line({x[i], x[i] + pole * std::sin(angle[i])}, {0, -pole * std::cos(angle[i])},
             {.color = fmt::format("hsl(215, 80%, {}%)", 30 + 45 * i / x.size()), .width = 1.4});
  }
  way.scatter(states.position, zeros_like(states.position), {.color = "gray", .size = 4, .marker = Marker::square});
  const Array time = kStep * arange(static_cast<int>(x.size()), float64);
  const PlotOptions small{.x_label = "time, s", .width = 265, .height = 230};
  PlotOptions of_angle = small, of_force = small, of_cost = small;
  of_angle.title = "angle of the pole", of_force.title = "force on the cart, N";
  of_cost.title = "cost of each guess", of_cost.x_label = "update", of_cost.y_log = true;
  Plot angles(of_angle), force(of_force), cost(of_cost);
  angles.line(time, states.angle);
  force.line(time(slice(forces.shape()[0])), forces, {.color = "#c4432b", .steps = true});
  const Array all = swapaxes(costs, 0, 1);
  for (std::int64_t g = 0; g < costs.shape()[0]; ++g) cost.line(all(slice(), g), {.width = 1.1, .opacity = 0.8});
  // The wide one above the three others.
  way.save(path);
  const std::string beside = path.substr(0, path.rfind('.')) + "_curves.svg";
  Figure({angles, force, cost}, {.columns = 3}).save(beside);
  fmt::print("pictures: {}, {}\n", path, beside);
}

static int run(const std::string& path) {
  fmt::print("{} steps of {:.0f} ms; {} first guesses, {} updates each\n", kSteps, 1e3 * kStep, kGuesses, kUpdates);

  // Undriven, from the side: the energy must stay.
  const State free = jit(simulate)(State{0.f, 2.f, 0.f, 0.f}, zeros(kSteps));
  const double drift = (max(energy(free)) - min(energy(free))).item<double>();
  fmt::print("energy of the undriven pole: {:.4f} J, drifting by {:.1e} J\n", energy(free)(0).item<double>(), drift);

  // The gradient through the simulation, along a random direction, against a difference, in double precision.
  const auto [for_control, for_direction, for_guesses] = random::split<3>(random::key(7));
  const Array at = random::normal(for_control, kSteps, float64) * .1, along = random::normal(for_direction, kSteps, float64);
  const double gradient = dot(jit(grad(cost))(at), along).item<double>(), h = 1e-6;
  const double difference = (cost(at + h * along) - cost(at - h * along)).item<double>() / (2 * h);
  fmt::print("derivative of the cost: {:.8f} by grad, {:.8f} by differences\n", gradient, difference);

  // Smooth random guesses, all optimised at once.
  const Array times = linspace(0, 2 * std::numbers::pi, kSteps);
  const Array waves = stack({sin(times), cos(times), sin(2 * times), cos(2 * times)});
  const Array guesses = .3f * matmul(random::normal(for_guesses, {kGuesses, 4}), waves);
  const double t0 = seconds();
  const auto compiled = jit(vmap(optimise)).lower(guesses).compile();
  const double t1 = seconds();
  const auto [controls, costs] = compiled(guesses);
  costs.block_until_ready();
  const double t2 = seconds();
  fmt::print("optimiser traced and compiled in {:.2f} s, run in {:.2f} s: {:.0f} simulations with gradient a second\n", t1 - t0, t2 - t1,
             kGuesses * kUpdates / (t2 - t1));
  for (int g = 0; g < kGuesses; ++g)
    fmt::print("guess {}: cost {:.3f} to {:.5f}\n", g, costs(g, 0).item<double>(), costs(g, -1).item<double>());

  const int best = argmin(costs(slice(), -1)).item<int>();
  const Array forces = forces_of(controls(best));
  const State states = simulate(kHanging, forces);
  const State end = tree::map([](Array x) { return x(-1); }, states);
  const double tilt = acos(-cos(end.angle)).item<double>() * 180 / std::numbers::pi, spin = end.spin.item<double>(),
               speed = end.velocity.item<double>();
  const double reach = max(abs(states.position)).item<double>();
  fmt::print(
      "guess {} ends {:.2f} degrees from upright, turning at {:.3f} rad/s, the cart at {:.3f} m/s; it used {:.2f} m of the rail's {:.2f} "
      "m\n",
      best, tilt, spin, speed, reach, kRail);
  if (!path.empty()) draw(path, states, forces, costs);
  const bool physical = drift < 1e-4, differentiated = std::abs(gradient - difference) < 1e-6 * std::abs(difference);
  const bool up = tilt < 3 && std::abs(spin) < .2 && std::abs(speed) < .2 && reach < kRail;
  fmt::print("energy {}, gradient {}, pole {}\n", physical ? "kept" : "LOST", differentiated ? "right" : "WRONG", up ? "up" : "NOT up");
  return physical && differentiated && up ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
