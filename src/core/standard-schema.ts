/**
 * What any validation library offers that follows Standard Schema 1: zod, valibot, arktype and others.
 * Source: https://standardschema.dev
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type InputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input']
export type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']

/** The place of a value, as a JavaScript programmer writes it: `payload.lines[2].note`. */
export function pathText(root: string, path: readonly PropertyKey[]): string {
  let text = root
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (typeof step === 'string' && /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(step)) text += `.${step}`
    else text += `[${typeof step === 'string' ? JSON.stringify(step) : String(step)}]`
  }
  return text
}

/** The issues of a failed validation in one line, the first few of them: `payload.total: expected string`. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  const most = 5
  const lines = issues.slice(0, most).map((issue) => {
    const path = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
    return `${pathText('payload', path)}: ${issue.message}`
  })
  if (issues.length > most) lines.push(`and ${issues.length - most} more`)
  return lines.join('; ')
}

/** Goes on at once with a value, later with a promise. */
export function after<T, R>(value: T | Promise<T>, go: (value: T) => R | Promise<R>): R | Promise<R> {
  return isPromise(value) ? Promise.resolve(value).then((resolved) => go(resolved)) : go(value)
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
