import { Database, type SqliteParameters, type Statement } from '../../../src/stores/sqlite/driver.ts';

/** A connection that records the statements that are run with `run` and `exec`. */
export class TracedDatabase extends Database {
  readonly statements: string[] = [];

  override exec(sql: string): void {
    this.statements.push(sql);
    super.exec(sql);
  }

  override prepare<P extends SqliteParameters = [], R = unknown>(sql: string): Statement<P, R> {
    const statement = super.prepare<P, R>(sql);
    const { statements } = this;
    return new Proxy(statement, {
      get(target, name: keyof Statement) {
        if (name !== 'run') return target[name].bind(target);
        return (...parameters: unknown[]) => {
          statements.push(sql);
          return Reflect.apply(target.run, target, parameters);
        };
      },
    });
  }
}
