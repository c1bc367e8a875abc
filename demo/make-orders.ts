// Writes orders.csv anew: always the same 400 orders, with the values that tend to break on the way through a system.
// `node demo/make-orders.ts`
import { writeFileSync } from 'node:fs'

const clients = [
  'Akiko 明子',
  "O'Hara & Söhne",
  'Zoë "Zed" Lund',
  'Ærø Færger',
  'Bäckerei Groß',
  'Café, Bar; Rösti',
  'Дарья Иванова',
  'שרה כהן',
  '山田商店',
  '007',
  'null',
  '🦄 Unicorn Ltd',
]
const items = [
  'Kaffee, gemahlen',
  'Schraube 3/8"',
  '抹茶ラテ',
  'Brötchen',
  'Ünïcödé T-shirt',
  'Tea \\ Earl Grey',
  'plain box',
  "rock 'n' roll",
  'Пирог',
  'قهوة',
]
const notes = [
  '',
  'leave it at the door',
  'She said "no, thanks", twice',
  'two\nlines',
  'Windows\r\nlines, and a comma',
  '配達は午後にお願いします',
  'happy birthday 🎂👨‍👩‍👧‍👦🎉',
  'line separator \u2028 inside',
  '{"not": "json", "really": [1, 2',
  "'; drop table orders; --",
  'tab\there',
  '=1+1',
  'e\u0301 is not \u00e9',
  'null',
]
const totals = [
  '0.10',
  '19.90',
  '1.50',
  '100',
  '0.30000000000000004',
  '9007199254740993',
  '12345678901234567890.123456789',
  '0.000001',
  '3.00',
]

// A small generator of its own (Park and Miller, 1988): the file must come out the same on every machine.
let state = 20_260_101
function below(limit: number): number {
  state = (state * 48_271) % 2_147_483_647
  return state % limit
}
const pick = (list: readonly string[]): string => list[below(list.length)] ?? ''
const field = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const lines = ['order,client,item,note,total']
for (let i = 1; i <= 400; i++) {
  lines.push([`o-${String(i).padStart(3, '0')}`, pick(clients), pick(items), pick(notes), pick(totals)].map(field).join(','))
}
writeFileSync(new URL('orders.csv', import.meta.url), `${lines.join('\n')}\n`)
