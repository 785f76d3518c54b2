/** Why one of these limits is none, or undefined. */
export function limitProblem(limits: Readonly<Record<string, number | undefined>>): string | undefined {
  const wrong = Object.entries(limits).find(([, value]) => value !== undefined && !(value >= 0));
  return wrong && `${wrong[0]} is ${wrong[1]}; give a number that is not negative, or leave it out`;
}
