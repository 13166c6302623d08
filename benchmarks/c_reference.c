/* Connect Four or tic-tac-toe as plain C does it, on many boards at once and in a tree search: the yardstick for the
   vector environment and for MCTS.

   A second copy of the rules on purpose. The sizes are given by the compiler's -D, so that each game gets
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

#include <math.h>
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

/* The set with a stone for an action, which is trusted to be legal. */
static inline Word stone_of(Word stones, Word action)
{
    /* Adding a column's lowest bit carries past the stones that are already there. */
    return GRAVITY ? (stones + ((Word)1 << action * STRIDE)) & (Word)COLUMN << action * STRIDE
                   : (Word)1 << (action % COLS * STRIDE + ROWS - 1 - action / COLS);
}

static inline Word action_of(int cell)
{
    return GRAVITY ? cell / STRIDE : (ROWS - 1 - cell % STRIDE) * COLS + cell / STRIDE;
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
        actions[i] = action_of(nth_bit(legal, index));
    }
}

/* Plays an action on every board; both sides step, and a game that ends begins again within the step. The reward (1 for a win, else 0) is the mover's, `done` says that the game is over;
   planes (n, 2, ROWS, COLS) and masks (n, ACTIONS) are what the next player sees, or the first of the next game. */
void step(int64_t n, Word *restrict own, Word *restrict opp, const int64_t *restrict actions,
          double *restrict rewards, int8_t *restrict done, int8_t *restrict planes, int8_t *restrict masks)
{
    for (int64_t i = 0; i < n; i++) {
        Word stones = own[i] | opp[i], action = (Word)actions[i];
        Word mine = own[i] | stone_of(stones, action), theirs = opp[i];
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

enum { WIDTH = (ACTIONS + 7) / 8 * 8 };

/* A position of the tree: for each action its visits, the sum of the results for the side that plays it, and its node,
   0 if it has none. An action gets one when it is selected for the second time. */
typedef struct {
    int32_t visits[WIDTH];
    float sums[WIDTH];
    int32_t children[WIDTH];
} Node;

static inline Word random_cell(Word legal, Word *state)
{
    return (random_word(state) >> 32) * (Word)__builtin_popcountll(legal) >> 32;
}

/* The result of a random game for the side to move. */
static int rollout(Word own, Word opp, Word *state)
{
    for (int sign = 1;; sign = -sign) {
        Word legal = ((own | opp) ^ FULL) & CHOICES;
        if (!legal)
            return 0;
        Word mine = own | stone_of(own | opp, action_of(nth_bit(legal, random_cell(legal, state))));
        if (has_line(mine))
            return sign;
        own = opp;
        opp = mine;
    }
}

/* UCT (Kocsis and Szepesvari 2006) with a random game at each leaf, from an unfinished position; nodes needs room for
   one more than the simulations. Writes how often each action of the root was tried. */
void search(Word own, Word opp, int64_t simulations, float exploration, Word state, Node *nodes, int64_t *visits)
{
    int32_t used = 1;
    memset(&nodes[0], 0, sizeof(Node));
    for (int64_t done = 0; done < simulations; done++) {
        Word mine = own, theirs = opp;
        int32_t path[CELLS][2], node = 0, total = (int32_t)done;
        int depth = 0, result; /* for the side that played last */
        for (;;) {
            /* Select: an action that was not tried yet, at random, or the one of the highest bound. */
            Word legal = ((mine | theirs) ^ FULL) & CHOICES, open = 0;
            float best = -1e30f, logarithm = logf((float)(total > 1 ? total : 1));
            int action = -1;
            for (Word rest = legal; rest; rest &= rest - 1) {
                int cell = __builtin_ctzll(rest), each = (int)action_of(cell);
                float count = (float)nodes[node].visits[each];
                if (count == 0) {
                    open |= rest & -rest;
                    continue;
                }
                float bound = nodes[node].sums[each] / count + exploration * sqrtf(logarithm / count);
                if (bound > best) {
                    best = bound;
                    action = each;
                }
            }
            if (open)
                action = (int)action_of(nth_bit(open, random_cell(open, &state)));
            path[depth][0] = node;
            path[depth++][1] = action;
            Word next = mine | stone_of(mine | theirs, (Word)action);
            mine = theirs;
            theirs = next;
            if (has_line(theirs)) {
                result = 1;
                break;
            }
            if ((mine | theirs) == FULL) {
                result = 0;
                break;
            }
            total = nodes[node].visits[action];
            if (total == 0) {
                result = -rollout(mine, theirs, &state);
                break;
            }
            /* Expand, and go on below. */
            if (nodes[node].children[action] == 0) {
                memset(&nodes[used], 0, sizeof(Node));
                nodes[node].children[action] = used++;
            }
            node = nodes[node].children[action];
            total -= 1; /* the visit that had no node yet */
        }
        /* Back up, from the leaf to the root. */
        while (depth--) {
            nodes[path[depth][0]].visits[path[depth][1]]++;
            nodes[path[depth][0]].sums[path[depth][1]] += (float)result;
            result = -result;
        }
    }
    for (int action = 0; action < ACTIONS; action++)
        visits[action] = nodes[0].visits[action];
}
