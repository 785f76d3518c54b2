/** The longest time that nothing else could run in this process. */
export interface Blocks {
  /** Milliseconds by the clock. */
  readonly longest: number;
  /** Milliseconds of this thread's processor time: what a busy machine does not add to. */
  readonly longestCpu: number;
}

/** Watches the event loop with a timer of a millisecond until it is stopped. */
export function watchEventLoop(): { stop(): Blocks } {
  let longest = 0;
  let longestCpu = 0;
  let [time, cpu] = [performance.now(), threadCpuMs()];
  const look = (): void => {
    const [now, used] = [performance.now(), threadCpuMs()];
    longest = Math.max(longest, now - time);
    longestCpu = Math.max(longestCpu, used - cpu);
    [time, cpu] = [now, used];
  };
  const timer = setInterval(look, 1);
  return {
    stop() {
      look();
      clearInterval(timer);
      return { longest, longestCpu };
    },
  };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
