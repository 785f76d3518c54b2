/** `holdfast/testing`: the store contract as a test suite, a clock under your control, and crash points. */
export {
  type ConformanceTest,
  storeConformance,
} from './stores/conformance.ts';
export {
  type CrashPoints,
  crashPoints,
  modelWithCrashPoints,
  storeWithCrashPoints,
} from './testing/crash-points.ts';
export { type FakeClock, fakeClock } from './testing/fake-clock.ts';
