/**
 * A function that says that layout 2 can be used. Every statement that writes calls it. PostgreSQL replaces the call by its value when it
 * plans the statement, so it costs nothing, and plans again when the function changes. A migration after which a Holdfast of layout 2
 * cannot use the tables drops the function: the statements of that Holdfast then fail. Reading `layout` in each statement instead was an
 * eighth of the cost of an append.
 */
export function usableByLayout2(schema: string): string {
  return `CREATE FUNCTION "${schema}".usable_by_2() RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN true`;
}
