/**
 * The caller's own open transaction: all that a data library must give.
 * `query` sends one statement with its parameters over the transaction's connection, in the same tick as the call.
 */
export interface Executor {
  readonly dialect: 'postgres'
  query(sql: string, params: readonly unknown[]): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly rowCount: number }>
}
