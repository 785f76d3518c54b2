/** `holdfast/testing`: the store contract as a test suite, a clock under your control, and crash points. */
export {
  type ConformanceContext,
  type ConformanceTest,
  type StoreConformanceOptions,
  storeConformance,
} from './stores/conformance.ts';
export {
  type CrashPoints,
  type CrashPointsOptions,
  crashPoints,
  modelWithCrashPoints,
  storeWithCrashPoints,
} from './testing/crash-points.ts';
export { type FakeClock, fakeClock } from './testing/fake-clock.ts';
