/**
 * The tools of the demo's second job: plan a trip. They take seconds and report their progress, so that a person can watch them and kill the
 * process meanwhile. What only reads records its execution when it has its result: a reading that is cut off is repeated. Trains, weather and
 * hotels are invented; the files are real.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AnyTool, defineSubagent, defineTool, HoldfastError, type ToolContext } from 'holdfast';
import { definePrompt } from 'holdfast/evaluate';
import { strings } from './strings-schema.ts';
import type { Workspace } from './workspace.ts';

/** The prompt of the subagent that compares hotels. */
export const HOTELS_KEY = 'hotels';

export const HOTELS: readonly { readonly name: string; readonly euros: number; readonly reviews: string }[] = [
  {
    name: 'Hotel Central',
    euros: 96,
    reviews: 'Central and cheap. Three of four guests mention the noise of the bar below.',
  },
  {
    name: 'Casa do Rio',
    euros: 118,
    reviews: 'Quiet rooms, ten minutes by tram. Breakfast is praised again and again.',
  },
];

export function tripTools(workspace: Workspace): readonly AnyTool[] {
  return [
    defineTool({
      name: 'update_plan',
      description: 'Shows the steps of the work and how far it is',
      input: strings({}).input,
      jsonSchema: PLAN,
      effect: 'idempotent',
      execute: (_, context) => {
        workspace.note(context);
        return 'shown';
      },
    }),
    defineTool({
      name: 'search_trains',
      description: 'Searches trains to a city',
      ...strings({ to: 'the city' }),
      effect: 'read',
      async execute({ to }, context) {
        await report(context, 6000, [
          `asking 3 railways for trains to ${to}`,
          '08:12 → 14:40, 1 change, EUR 74',
          '09:30 → 15:05, direct, EUR 89',
          'done',
        ]);
        workspace.note(context);
        return [
          { departs: '08:12', arrives: '14:40', changes: 1, euros: 74 },
          { departs: '09:30', arrives: '15:05', changes: 0, euros: 89 },
        ];
      },
    }),
    defineTool({
      name: 'weather',
      description: 'Forecasts the weather of a city',
      ...strings({ city: 'the city' }),
      effect: 'read',
      async execute({ city }, context) {
        await report(context, 3000, [`asking the forecast for ${city}`]);
        workspace.note(context);
        return { city, sky: 'clear', celsius: 21 };
      },
    }),
    defineSubagent({
      name: 'subagent',
      description: 'Starts a subagent: name what it is for, and give it its task',
      ...strings({ agent: 'what it is for, such as hotels', prompt: 'its task' }),
      prompt: definePrompt({
        ns: 'demo',
        key: HOTELS_KEY,
        instructions: 'You compare {{agent}} by their reviews and recommend one, in one or two sentences.',
        tools: [
          defineTool({
            name: 'read_reviews',
            description: 'Reads the reviews of a hotel',
            ...strings({ hotel: 'its name' }),
            effect: 'read',
            async execute({ hotel }, context) {
              await report(context, 2500, [`reading 40 reviews of ${hotel}`]);
              workspace.note(context);
              return HOTELS.find(({ name }) => name === hotel)?.reviews ?? `there are no reviews of ${hotel}`;
            },
          }),
        ],
      }),
    }),
    defineTool({
      name: 'edit',
      description: 'Replaces a passage of a file of the workspace',
      ...strings({ file: 'the file', old_string: 'the passage', new_string: 'its replacement' }),
      effect: 'idempotent',
      execute: ({ file, old_string: before, new_string: after }, context) => {
        workspace.note(context);
        const text = readFileSync(workspace.pathOf(file), 'utf8');
        if (text.includes(after)) return `${file} has this passage already`; // an earlier process has replaced it
        if (!text.includes(before)) throw new HoldfastError('INVALID_ARGUMENT', `${file} has no such passage`);
        writeFileSync(
          workspace.pathOf(file),
          text.replace(before, () => after),
        );
        return `${file}: 1 passage replaced`;
      },
    }),
    defineTool({
      name: 'book_hotel',
      description: 'Books a hotel and charges the card',
      ...strings({ hotel: 'its name', nights: 'how many', euros: 'the price in all' }),
      effect: 'once', // without `reconcile`: if the process dies in it, only a person can find out whether the hotel was booked
      needsApproval: true,
      async execute({ hotel, nights, euros }, context) {
        workspace.note(context);
        const booking = workspace.effectOf('bookings', context);
        await report(context, 2500, [
          `calling ${hotel}; once it is booked, there is a file in ${dirname(booking)}`,
          'the room is held',
        ]);
        writeFileSync(booking, `${hotel}, ${nights} nights, EUR ${euros}\n`);
        await report(context, 2500, ['charging the card', 'confirmed'], 50);
        return `booked: ${hotel}, ${nights} nights, EUR ${euros}`;
      },
    }),
  ];
}

const PLAN: Readonly<Record<string, unknown>> = {
  type: 'object',
  properties: {
    plan: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          step: { type: 'string' },
          status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] },
        },
        required: ['step', 'status'],
      },
    },
  },
  required: ['plan'],
};

/** Reports lines of progress over some milliseconds. */
async function report(context: ToolContext, ms: number, lines: readonly string[], from = 0): Promise<void> {
  for (const [index, line] of lines.entries()) {
    context.progress({ text: `${line}\n`, percent: Math.round(from + ((100 - from) * index) / lines.length) });
    await sleep(ms / lines.length, undefined, { signal: context.signal });
  }
}
