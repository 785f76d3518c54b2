/** The longest block of this process's event loop. */
export interface Blocks {
  /** Milliseconds by the clock. */
  readonly longest: number;
  /** Milliseconds of this thread's processor time, which a busy machine does not increase. */
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
