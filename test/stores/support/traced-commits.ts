import { Database, type SqliteParameters, type Statement } from '../../../src/stores/sqlite/driver.ts';

/**
 * Calls back around each commit of every connection that this process opens from now on, without changing them. Returns a function that
 * ends it.
 */
export function traceCommits(around: {
  before?(database: Database): void;
  after?(database: Database): void;
}): () => void {
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function <P extends SqliteParameters = [], R = unknown>(
    this: Database,
    sql: string,
  ): Statement<P, R> {
    const statement = prepare.call(this, sql) as Statement<P, R>;
    if (sql !== 'COMMIT') return statement;
    return new Proxy(statement, {
      get: (target, name: keyof Statement) => {
        if (name !== 'run') return target[name].bind(target);
        return (...parameters: unknown[]) => {
          around.before?.(this);
          const result = Reflect.apply(target.run, target, parameters);
          around.after?.(this);
          return result;
        };
      },
    });
  } as typeof prepare;
  return () => {
    Database.prototype.prepare = prepare;
  };
}
