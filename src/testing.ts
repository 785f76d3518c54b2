/** `holdfast/testing`: the store contract as a suite for your own store, a clock that you move, and places to crash at. */
export { type ConformanceTest, type StoreConformanceOptions, storeConformance } from './stores/conformance.ts';
export {
  type CrashPoints,
  type CrashPointsOptions,
  crashPoints,
  modelWithCrashPoints,
  storeWithCrashPoints,
} from './testing/crash-points.ts';
export { type FakeClock, fakeClock } from './testing/fake-clock.ts';
