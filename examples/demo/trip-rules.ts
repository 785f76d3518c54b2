/** The rules of the demo's second job: plan a trip, with a subagent that compares hotels. */
import type { ScriptedTurn } from 'holdfast';
import type { JobState } from './job-state.ts';
import { HOTELS } from './trip-tools.ts';

export const TRIP_REQUEST =
  'Plan a trip to Lisbon for two nights: compare trains and hotels, write itinerary.md, book the hotel, and mail it to team@example.com.';

const FILE = 'itinerary.md';
const OPEN = 'Hotel: to be decided';
const NIGHTS = 2;
const STEPS = ['Compare trains, weather and hotels', 'Write the itinerary', 'Book the hotel', 'Mail the itinerary'];

export function tripTurn(job: JobState): ScriptedTurn {
  const { turn, said, results } = job;
  const city = cityIn(job.request);
  const hotel = HOTELS.find(({ name }) => said('subagent')[0]?.includes(name)) ?? HOTELS[0];
  const price = (hotel?.euros ?? 0) * NIGHTS;
  switch (turn) {
    case 1:
      return {
        reasoning: `A trip to ${city}. Trains, weather and hotels do not depend on each other, so I can ask for all of them at once. A subagent reads the reviews of the hotels.`,
        text: `I compare trains, weather and hotels for ${city} at the same time.`,
        toolCalls: [
          { name: 'update_plan', arguments: { plan: planAt(0) } },
          { name: 'search_trains', arguments: { to: city } },
          { name: 'weather', arguments: { city } },
          {
            name: 'subagent',
            arguments: {
              agent: 'hotels',
              prompt: `Compare ${HOTELS.map(({ name }) => name).join(' and ')} in ${city}.`,
            },
          },
        ],
      };
    case 2:
      return {
        text: 'The direct train is worth fifteen euros more. I write down what is certain.',
        toolCalls: [{ name: 'write_file', arguments: { file: FILE, text: itinerary(city) } }],
      };
    case 3:
      return {
        text: `The subagent prefers ${hotel?.name}.`,
        toolCalls: [
          {
            name: 'edit',
            arguments: {
              file: FILE,
              old_string: OPEN,
              new_string: `Hotel: ${hotel?.name}, ${NIGHTS} nights, EUR ${price}`,
            },
          },
          { name: 'update_plan', arguments: { plan: planAt(2) } },
        ],
      };
    case 4:
      return {
        text: 'Booking costs money, so it needs your approval. You may change the arguments first.',
        toolCalls: [
          {
            name: 'book_hotel',
            arguments: { hotel: hotel?.name ?? '', nights: String(NIGHTS), euros: String(price) },
          },
        ],
      };
    case 5:
      return {
        text: results('book_hotel').at(-1)?.isError
          ? 'The hotel is not booked. I mail the itinerary as it is.'
          : 'Booked. The team gets the itinerary.',
        toolCalls: [{ name: 'send_mail', arguments: { to: 'team@example.com', file: FILE } }],
      };
    default: {
      const booking = results('book_hotel').at(-1);
      const isBooked = booking !== undefined && !booking.isError;
      return summary(city, isBooked ? (said('book_hotel').at(-1) ?? '') : 'not booked');
    }
  }
}

/** The turns of the subagent. */
export function hotelTurn({ turn }: JobState): ScriptedTurn {
  if (turn === 1) {
    return {
      text: 'I read the reviews of both.',
      toolCalls: HOTELS.map(({ name }) => ({ name: 'read_reviews', arguments: { hotel: name } })),
    };
  }
  const best = HOTELS[1];
  return `${best?.name}, at EUR ${best?.euros} a night: its guests praise the quiet rooms and the breakfast, while the cheaper one is above a bar.`;
}

function cityIn(request: string): string {
  return /\b(?:to|in|visit)\s+(\p{Lu}\p{L}+(?:\s\p{Lu}\p{L}+)?)/u.exec(request)?.[1] ?? 'Lisbon';
}

function planAt(done: number): readonly { readonly step: string; readonly status: string }[] {
  return STEPS.map((step, index) => ({
    step,
    status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
  }));
}

function itinerary(city: string): string {
  return `# ${city}\n\nTrain: 09:30 → 15:05, direct, EUR 89\n${OPEN}\nWeather: clear, 21 °C\n`;
}

function summary(city: string, booking: string): string {
  return [
    `Your trip to **${city}** is planned, and the team has the itinerary.`,
    `| | |\n| --- | --- |\n| Train | 09:30 → 15:05, direct, EUR 89 |\n| Hotel | ${booking} |\n| Weather | clear, 21 °C |`,
    'What to try on this page:',
    [
      '1. Press **Kill** while an agent works. The process gets SIGKILL; the next one continues where it was, and no finished tool runs again.',
      '2. Kill it inside `book_hotel`. Whether the hotel was booked is then unknown, and the inbox asks you.',
      '3. Write “Plan a trip to Porto”, and steer it while it works.',
    ].join('\n'),
  ].join('\n\n');
}
