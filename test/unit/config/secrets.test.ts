import { describe, expect, it } from 'vitest'
import { masked, rememberSecret } from '../../../src/config/secrets.ts'

describe('masked', () => {
  it.each([
    ['postgres://app:hunter2@db:5432/shop failed', 'postgres://app:***@db:5432/shop failed'],
    ['postgres://app:hun@ter2@db/shop', 'postgres://app:***@db/shop'],
    ['postgres://:hunter2@db/shop', 'postgres://:***@db/shop'],
    ['two: amqp://a:b1@x/ and redis://:c2@y/', 'two: amqp://a:***@x/ and redis://:***@y/'],
    ['host=db password=hunter2 user=app', 'host=db password=*** user=app'],
    ['?sslpassword=hunter2&x=1', '?sslpassword=***&x=1'],
    [`{"password": "hun'ter 2", "user": "app"}`, `{"password": ***, "user": "app"}`],
    ['postgres://app@db/shop and 12:30@noon', 'postgres://app@db/shop and 12:30@noon'],
  ])('%s', (text, expected) => expect(masked(text)).toBe(expected))

  it('masks the password of a remembered URL wherever it appears, encoded or not', () => {
    rememberSecret('postgres://app:p%C3%A4ss-w0rd@db/shop')
    expect(masked('it was päss-w0rd, or p%C3%A4ss-w0rd')).toBe('it was ***, or ***')
    expect(masked('the host db and the user app stay')).toBe('the host db and the user app stay')
  })

  it('does not blank out text for the sake of a secret of three letters, or of one that is a word of our own', () => {
    rememberSecret('abc')
    rememberSecret('postgres://postgres:outrider@db/shop')
    expect(masked('abcdef, npx outrider migrate')).toBe('abcdef, npx outrider migrate')
    expect(masked('postgres://postgres:outrider@db/shop')).toBe('postgres://postgres:***@db/shop')
  })
})
