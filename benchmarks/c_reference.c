/* Connect Four or tic-tac-toe on many boards at once, as plain C does it: the yardstick for the vector environment.

   A second copy of the rules on purpose. Both sides step, the caller's actions are trusted to be legal, and a game
   that ends begins again within the same step. The sizes are given by the compiler's -D, so that each game gets
   machine code of its own:

       ROWS, COLS (at most 7), CONNECT (3 or 4), GRAVITY (1: an action is a column; 0: a cell, row by row)

   A set of cells is a word with a byte for each column, bit 0 at the bottom; the bits above the board stay empty:

             .  .  .  .  .  .  .
             5 13 21 29 37 45 53        One step up is +1, right +8, up-right +9, down-right +7. A row shifted down
             4 12 20 28 36 44 52        to bit 0 has its cells one byte apart, from the left: just the bytes of that
             3 11 19 27 35 43 51        row in the observation.
             2 10 18 26 34 42 50
             1  9 17 25 33 41 49
             0  8 16 24 32 40 48                                                                                     */

#include <stdint.h>
#include <string.h>
#ifdef __BMI2__
#include <immintrin.h>
#endif

typedef uint64_t Word;

enum { STRIDE = 8, CELLS = ROWS * COLS, ACTIONS = GRAVITY ? COLS : CELLS };

#define BOTTOM (0x0101010101010101u >> 8 * (8 - COLS)) /* the lowest cell of every column */
#define COLUMN ((1u << ROWS) - 1)                      /* the leftmost column */
#define FULL (BOTTOM * COLUMN)
#define CHOICES (GRAVITY ? BOTTOM << (ROWS - 1) : FULL) /* the cells that stand for the actions */

/* Two in a line are a pair; two pairs that touch (three cells) or join (four) are a line. */
static inline Word has_line(Word stones)
{
    static const int steps[4] = {1, STRIDE, STRIDE + 1, STRIDE - 1};
    Word lines = 0;
    for (int i = 0; i < 4; i++) {
        Word pairs = stones & stones >> steps[i];
        lines |= pairs & pairs >> steps[i] * (CONNECT - 2);
    }
    return lines;
}

/* Writes the rows of a set of cells as bytes, from the top, each as eight. Those past a row's end are written again by
   the next row, plane or board, so boards are shown in ascending order, and 7 bytes must follow the last one. */
static inline void show(int8_t *bytes, Word cells, int rows)
{
    for (int row = 0; row < rows; row++) {
        Word word = cells >> (ROWS - 1 - row) & BOTTOM;
        memcpy(bytes + row * COLS, &word, sizeof word);
    }
}

/* Splitmix64 (Steele, Lea and Flood 2014): a counter, and a hash of it. */
static inline Word random_word(Word *state)
{
    Word z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The position of the set bit that has `index` lower ones. */
static inline int nth_bit(Word bits, Word index)
{
#ifdef __BMI2__
    return __builtin_ctzll(_pdep_u64((Word)1 << index, bits));
#else
    while (index--)
        bits &= bits - 1;
    return __builtin_ctzll(bits);
#endif
}

/* A random legal action for every board, from a random state for each: of the k legal ones that with as many lower ones
   as the upper half of a random word times k. Drawing until a legal one comes costs more: its branches cannot be
   predicted. */
void draw(int64_t n, const Word *restrict own, const Word *restrict opp, Word *restrict random,
          int64_t *restrict actions)
{
    for (int64_t i = 0; i < n; i++) {
        Word legal = ((own[i] | opp[i]) ^ FULL) & CHOICES;
        Word index = (random_word(&random[i]) >> 32) * (Word)__builtin_popcountll(legal) >> 32;
        int cell = nth_bit(legal, index);
        actions[i] = GRAVITY ? cell / STRIDE : (ROWS - 1 - cell % STRIDE) * COLS + cell / STRIDE;
    }
}

/* Plays an action on every board. The reward (1 for a win, else 0) is the mover's, `done` says that the game is over;
   planes (n, 2, ROWS, COLS) and masks (n, ACTIONS) are what the next player sees, or the first of the next game. */
void step(int64_t n, Word *restrict own, Word *restrict opp, const int64_t *restrict actions,
          double *restrict rewards, int8_t *restrict done, int8_t *restrict planes, int8_t *restrict masks)
{
    for (int64_t i = 0; i < n; i++) {
        Word stones = own[i] | opp[i], action = (Word)actions[i];
        /* Adding a column's lowest bit carries past the stones that are already there. */
        Word stone = GRAVITY ? (stones + ((Word)1 << action * STRIDE)) & (Word)COLUMN << action * STRIDE
                             : (Word)1 << (action % COLS * STRIDE + ROWS - 1 - action / COLS);
        Word mine = own[i] | stone, theirs = opp[i];
        int won = has_line(mine) != 0;
        int over = won | ((mine | theirs) == FULL);
        Word kept = (Word)over - 1; /* no bit if the game is over, else all of them: a branch would be mispredicted */
        own[i] = theirs & kept;
        opp[i] = mine & kept;
        rewards[i] = won;
        done[i] = (int8_t)over;
        show(planes + i * 2 * CELLS, own[i], ROWS);
        show(planes + i * 2 * CELLS + CELLS, opp[i], ROWS);
        show(masks + i * ACTIONS, (own[i] | opp[i]) ^ FULL, ACTIONS / COLS);
    }
}
