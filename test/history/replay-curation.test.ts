import { describe, expect, test } from 'vitest';
import { formatReplays } from '../../src/history/inspect/curation-report.ts';
import { replayCuration } from '../../src/history/inspect/replay-curation.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { summarize } from '../../src/history/managers/summarize.ts';
import { countTokens } from '../../src/history/token-counts.ts';
import { Conversation, shapeOf } from './conversation.ts';

const talk = (turns: number): Conversation => {
  const build = new Conversation().system('Be brief.').user('hello');
  for (let i = 0; i < turns; i++) build.calls(`c${i}`);
  return build.says('done');
};

describe('replayCuration', () => {
  test('reports each request: its messages, its tokens, and the share that a cache could reuse', () => {
    const { messages } = talk(6);
    const { strategy, requests, totals } = replayCuration(messages, slidingWindow({ size: 4, low: 2 }));
    expect(strategy).toBe('sliding-window(4, low 2)');
    expect(requests.map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(requests.map(({ originalCount }) => originalCount)).toEqual([2, 4, 6, 8, 10, 12, 14]);
    expect(requests.map(({ curatedCount }) => curatedCount)).toEqual([2, 4, 6, 8, 6, 8, 10]);
    expect(requests.map(({ prefixKept }) => prefixKept)).toEqual([1, 1, 1, 1, 2 / 8, 1, 1]);
    expect(shapeOf(requests[4]?.messages() ?? [])).toBe('system user ask(c2) c2 ask(c3) c3');
    for (const [i, request] of requests.entries()) {
      const held = request.messages();
      expect(request.estimatedTokens).toBe(held.reduce((sum, message) => sum + countTokens(message), 0));
      const before = i === 0 ? [] : (requests[i - 1]?.messages() ?? []);
      const same = held.filter((message, at) => message === before[at]);
      expect(request.cachedTokens).toBe(same.reduce((sum, message) => sum + countTokens(message), 0));
    }
    expect(totals).toMatchObject({ requests: 7, breaks: 1, largest: requests[6]?.estimatedTokens });
    expect(totals.meanPrefixKept).toBeCloseTo((5 + 2 / 8) / 6);
    expect(totals.tokens).toBe(requests.reduce((sum, one) => sum + one.estimatedTokens, 0));
  });

  test('of one evaluation only, of nothing, and of a manager that requests a summary', () => {
    const build = talk(2);
    new Conversation('e2', build.messages).user('more').says('there');
    expect(replayCuration(build.messages, passthrough(), { evaluationId: 'e2' }).requests).toMatchObject([
      { originalCount: 8 },
    ]);
    expect(replayCuration([], passthrough())).toMatchObject({
      strategy: 'passthrough',
      requests: [],
      totals: { requests: 0, meanPrefixKept: 1 },
    });
    const { requests } = replayCuration(talk(6).messages, summarize({ size: 3 }));
    expect(requests.filter(({ needs }) => needs.length > 0).length).toBeGreaterThan(0);
  });
});

describe('formatReplays', () => {
  const replays = [passthrough(), slidingWindow({ size: 4, low: 2 })].map((history) =>
    replayCuration(talk(6).messages, history),
  );

  test('is a table of strategies with a chart of each', () => {
    const text = formatReplays(replays);
    expect(text).toMatchInlineSnapshot(`
      "strategy                  requests  tokens  largest  cached  prefix kept  breaks
      passthrough                      7     525      138  73.7 %      100.0 %       0
      sliding-window(4, low 2)         7     399       96  60.2 %       87.5 %       1

      passthrough
        tokens       ▂▃▄▅▆▇█  138 at the top
        prefix kept  ███████

      sliding-window(4, low 2)
        tokens       ▂▃▄▅▄▅▆  138 at the top
        prefix kept  ████▃██"
    `);
  });

  test('lists requests on demand, up to the given number', () => {
    const lines = formatReplays(replays, { rows: 3 }).split('\n');
    expect(lines.filter((line) => /^ {2}\d/.test(line))).toHaveLength(6);
    expect(lines.join('\n')).toMatch(/^ {2}7 +14 +14/m);
  });

  test('a chart is never wider than given, and works without requests', () => {
    const wide = formatReplays([replayCuration(talk(100).messages, passthrough())], { width: 20 });
    expect(wide.match(/[▁▂▃▄▅▆▇█]+/g)?.map((bars) => bars.length)).toEqual([20, 20]);
    expect(() => formatReplays([replayCuration([], passthrough())], { rows: 5 })).not.toThrow();
    expect(formatReplays([])).toContain('strategy');
  });
});
